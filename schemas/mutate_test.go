package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mutation is one change of an example: the value at path replaced by, or
// turned into, another one.
type mutation struct {
	path  string // members and, for entries of a list, "*", joined with "/"
	name  string
	value any // the whole document after the change
}

// mutations returns every change that this file knows of a document. Texts
// below a path in known get the changes that relate them to others only.
func mutations(doc any, known ...string) []mutation {
	var list []mutation
	seen := map[string]bool{}
	var walk func(at any, path string, set func(any) any)
	walk = func(at any, path string, set func(any) any) {
		all := changes(at)
		below := func(p string) bool { return strings.HasPrefix(path, p+"/") }
		if s, ok := at.(string); ok && (seen[path] || slices.ContainsFunc(known, below)) {
			all = wordChanges(s) // a later entry of a list, for one: only its relation to the others is new
		}
		seen[path] = true
		for _, c := range all {
			list = append(list, mutation{path, c.name, set(c.value)})
		}
		switch at := at.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(at)) {
				walk(at[k], strings.TrimPrefix(path+"/"+k, "/"), func(v any) any {
					out := maps.Clone(at)
					out[k] = v
					return set(out)
				})
			}
		case []any:
			for i := range at {
				walk(at[i], strings.TrimPrefix(path+"/*", "/"), func(v any) any {
					out := slices.Clone(at)
					out[i] = v
					return set(out)
				})
			}
		}
	}
	walk(doc, "", func(v any) any { return v })
	return list
}

// change is a value that takes the place of another.
type change struct {
	name  string
	value any
}

func changes(at any) []change {
	list := []change{{"null", nil}, {"bool", true}, {"number", 7.0}, {"string", "x"}, {"list", []any{}}, {"object", map[string]any{}}}
	switch at := at.(type) {
	case string:
		return append(list, stringChanges(at)...)
	case float64:
		for _, n := range []float64{-1 << 53, -2, -1, 0, 1, 2, 3, 8, 9, 16, 17, 100, 101, 255, 256, 1000, 1001, 86_400, 86_401, 1e6, 1e6 + 1, 1<<53 - 1, 1 << 53, 1.5, 1e21} {
			list = append(list, change{fmt.Sprint("number ", n), n})
		}
	case bool:
		list = append(list, change{"negated", !at})
	case map[string]any:
		for k, v := range at {
			without := maps.Clone(at)
			delete(without, k)
			renamed := maps.Clone(without)
			renamed[strings.ToUpper(k[:1])+k[1:]] = v
			list = append(list, change{"without " + k, without}, change{"renamed " + k, renamed})
		}
		more := maps.Clone(at)
		more["x"] = 1.0
		list = append(list, change{"unknown member", more})
		more = maps.Clone(at)
		more["confidence"] = 0.9
		list = append(list, change{"confidence", more})
	case []any:
		list = append(list, listChanges(at)...)
	}
	return list
}

func stringChanges(s string) []change {
	var list []change
	add := func(name, value string) { list = append(list, change{name, value}) }
	add("empty", "")
	if isHex(s) {
		add("upper", strings.ToUpper(s))
		add("twice", s+s)
		add("with \"\\n\"", s+"\n")
		add("no hex", s[:len(s)-1]+"g")
		add("cut", s[1:])
		add("zeros", strings.Repeat("0", len(s)))
		add("257 letters", strings.Repeat("a", 257))
		return list
	}
	for _, r := range []string{"\x00", "\n", "\r", "\t", "\x1b", "\x7f", "\u0085", "\u2028", " ", "\"", "%", "/", "😀"} {
		add(fmt.Sprintf("with %q", r), s+r)
	}
	add("after space", " "+s)
	add("after dash", "-"+s)
	add("upper", strings.ToUpper(s))
	add("twice", s+s)
	for _, n := range []int{1, 15, 16, 32, 33, 64, 65, 256, 257, 500, 501, 1024, 1025, 4000, 4001} {
		add(fmt.Sprint(n, " letters"), strings.Repeat("a", n))
	}
	for _, n := range []int{8, 9, 250, 251, 2000, 2001} {
		add(fmt.Sprint("é × ", n), strings.Repeat("é", n))
	}
	if strings.HasPrefix(s, "separation:") || strings.HasPrefix(s, "@id(") { // the longer texts: a policy
		add("16384 letters", strings.Repeat("a", 16_384))
		add("16385 letters", strings.Repeat("a", 16_385))
		add("é × 8193", strings.Repeat("é", 8193))
	}
	if !strings.HasPrefix(s, "202") {
		return append(list, wordChanges(s)...)
	}
	for _, time := range []string{"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z",
		"2026-01-01t00:00:00z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00+00:00", "2024-02-29T23:59:59Z"} {
		add("time "+time, time)
	}
	return list
}

// isHex reports whether s looks like a digest or a git object id.
func isHex(s string) bool { return len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == "" }

// wordChanges puts in words that the examples and enumerations use.
func wordChanges(s string) []change {
	list := []change{{"cut", s[:max(0, len(s)-1)]}}
	if isHex(s) || strings.Contains(s, " ") {
		return list
	}
	for _, word := range []string{"admin", "service", "none", "merge", "pass", "fail", "inconclusive", "code_failure", "environment_failure", "approve", "reject",
		"repair", "resume", "code", "human", "ci", "reply", "otto", "rene", "A2", "A1-unit", "go.sum", "critical", "A", "D"} {
		list = append(list, change{"word " + word, word})
	}
	return list
}

func listChanges(at []any) []change {
	var list []change
	add := func(name string, value []any) { list = append(list, change{name, value}) }
	if len(at) == 0 {
		return list
	}
	add("without first", at[1:])
	add("first twice", append([]any{at[0]}, at...))
	back := slices.Clone(at)
	slices.Reverse(back)
	add("reversed", back)
	for _, n := range []int{8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 400, 401} {
		many := make([]any, n)
		for i := range many {
			many[i] = vary(at[0], i)
		}
		add(fmt.Sprint(n, " entries"), many)
	}
	return list
}

// vary returns an entry like v that differs from those for other i, in order.
func vary(v any, i int) any {
	name := fmt.Sprintf("x%04d", i)
	switch v := v.(type) {
	case string:
		return name
	case map[string]any:
		out := maps.Clone(v)
		for _, k := range []string{"id", "path", "name", "actor", "key"} {
			if _, ok := out[k]; ok {
				out[k] = name
			}
		}
		if checks, ok := out["checks"].([]any); ok {
			inner := slices.Clone(checks)
			for n := range inner {
				inner[n] = vary(inner[n], i*100+n)
			}
			out["checks"] = inner
		}
		return out
	}
	return v
}
