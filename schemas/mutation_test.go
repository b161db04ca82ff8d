package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/deedledger/deed/events"
)

// relation is something that the struct of a type demands and JSON Schema
// cannot say; the schema states it in $comment, docs/format.md in prose. The
// first three are patterns of package path.
type relation struct{ types, path, mutation, why string }

func relations() []relation {
	const (
		sorted   = "the list is in strictly rising order"
		unique   = "no entry's id or key occurs twice"
		digests  = "the receipt's digests follow from what they are digests of"
		quorum   = "a quorum is not more than those who can give it"
		decision = "the first match is the decision"
		progress = "no more is done than there is"
		counts   = "the parts are not more than the whole"
	)
	list := []relation{
		{"*", "**", "é × *", "limits of texts count bytes of UTF-8"},
		{"*", "**", "time 2026-0[24]-*", "a month has no more days than it has"},
		{"contract.proposed", "acceptance/[*]/id", "*", unique},
		{"contract.proposed", "acceptance/[*]/checks/[*]/id", "*", unique},
		{"contract.proposed", "services/[*]/name", "*", unique},
		{"contract.proposed", "acceptance/[*]/checks/[*]/skips", "*", sorted},
		{"contract.proposed", "acceptance/[*]/checks/[*]/skips/[*]", "*", sorted},
		{"receipt.recorded", "checks/[*]/counts/*", "*", counts},
		{"ledger.created", "service/actor", "*", unique},
		{"ledger.created", "admins/[*]/roles", "*", sorted},
		{"ledger.created", "threshold", "*", quorum},
		{"effect.intended", "**", "branch: *", "an intent that moves a branch says nothing else"},
		{"contract.proposed", "quorum", "*", quorum},
		{"recovery.decided", "decision", "*", decision},
		{"recovery.decided", "matches", "*", decision},
		{"recovery.decided", "matches/[*]", "*", decision},
		{"progress.recorded", "done", "number *", progress},
		{"progress.recorded", "total", "number *", progress},
		{"receipt.recorded", "checks/[*]/id", "*", unique},
		{"receipt.recorded", "binding/*", "*", digests},
		{"receipt.recorded", "inputDigest", "*", digests},
		{"receipt.recorded", "environment", "*", digests},
		{"receipt.recorded", "environment/*", "*", digests},
		{"receipt.recorded", "environment/tools/[*]", "*", digests},
		{"receipt.recorded", "environment/tools/[*]/*", "*", digests},
	}
	for _, r := range [][3]string{
		{"actor.invited", "gitIdentities", ""}, {"actor.invited", "roles", ""},
		{"attempt.opened", "snapshot/inputs/lockfiles", "/path"}, {"attempt.opened", "snapshot/inputs/tools", "/name"},
		{"attempt.opened", "snapshot/rights/capabilities", ""}, {"contract.proposed", "reviewers", ""},
		{"effect.intended", "parts", ""}, {"ledger.created", "admins", "/actor"},
		{"lease.claimed", "world/foreign", ""}, {"lease.claimed", "world/missing", ""},
		{"lease.claimed", "world/inputs/lockfiles", "/path"}, {"lease.claimed", "world/inputs/tools", "/name"},
		{"recovery.decided", "world/foreign", ""}, {"recovery.decided", "world/missing", ""},
		{"recovery.decided", "world/inputs/lockfiles", "/path"}, {"recovery.decided", "world/inputs/tools", "/name"},
		{"repair.requested", "items", ""}, {"result.recorded", "authors", ""}, {"result.recorded", "changes", "/path"},
	} {
		list = append(list, relation{r[0], r[1], "*", sorted}, relation{r[0], r[1] + "/[*]" + r[2], "*", sorted})
	}
	return list
}

// TestStructAndSchemaAgree changes every example in every way that mutations
// knows. What the schema refuses the struct must refuse; what only the struct
// refuses must be a known relation; and every keyword of every schema must
// have refused something.
func TestStructAndSchemaAgree(t *testing.T) {
	used := make([]bool, len(relations()))
	broken := map[string]bool{}
	tried := 0
	for _, short := range Names() {
		typ := events.TypeOf(short)
		schema, err := compiled().schemas[short].compile()
		if err != nil {
			t.Fatal(err)
		}
		list := allMutations(t, typ)
		switch typ {
		case events.ReceiptRecorded:
			list = append(list, resealed(list)...)
		case events.EffectIntended:
			list = append(list, branchMutations()...)
		}
		for _, m := range list {
			tried++
			data, err := events.Canonical(m.value)
			if err != nil {
				t.Fatal(err)
			}
			bySchema := schema.Validate(m.value)
			_, byStruct := events.DecodeData(typ, data)
			note(broken, bySchema)
			switch {
			case bySchema != nil && byStruct == nil:
				t.Errorf("%s: %s: %s: only the schema refuses it: %v", short, m.path, m.name, bySchema)
			case bySchema == nil && byStruct != nil && !errors.Is(byStruct, events.ErrTooLarge):
				if i := relationOf(short, m); i >= 0 {
					used[i] = true
				} else {
					t.Errorf("%s: %s: %s: only the struct refuses it: %v", short, m.path, m.name, byStruct)
				}
			}
		}
		for _, keyword := range keywords(schema) {
			if !broken[keyword] {
				t.Errorf("%s: no mutation breaks %s", short, keyword)
			}
		}
	}
	for i, r := range relations() {
		if !used[i] {
			t.Errorf("relation %+v was never needed", r)
		}
	}
	t.Logf("%d mutations, %d keywords broken", tried, len(broken))
}

func relationOf(short string, m mutation) int {
	return slices.IndexFunc(relations(), func(r relation) bool {
		return matches(r.types, short) && (r.path == "**" || matches(r.path, m.path)) &&
			(r.mutation == "*" || matches(r.mutation, m.name))
	})
}

func matches(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	if err != nil {
		panic(err)
	}
	return ok
}

// note marks the keywords that a validation error names, at every level.
func note(broken map[string]bool, err error) {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return
	}
	keyword := "false"
	if k := e.ErrorKind.KeywordPath(); len(k) > 0 {
		keyword = k[0]
	}
	broken[e.SchemaURL+"/"+keyword] = true
	for _, cause := range e.Causes {
		note(broken, cause)
	}
}

// keywords lists the keywords by which a schema, or one that it refers to,
// can refuse a value.
func keywords(top *jsonschema.Schema) []string {
	seen := map[*jsonschema.Schema]bool{}
	var list []string
	var walk func(s *jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		add := func(has bool, keyword string) {
			if has {
				list = append(list, s.Location+"/"+keyword)
			}
		}
		add(s.Bool != nil && !*s.Bool, "false")
		add(s.Types != nil && !s.Types.IsEmpty(), "type")
		add(s.Enum != nil, "enum")
		add(s.Const != nil, "const")
		add(len(s.OneOf) > 0, "oneOf")
		add(len(s.Required) > 0, "required")
		add(s.AdditionalProperties == false, "additionalProperties")
		add(s.MinItems != nil, "minItems")
		add(s.MaxItems != nil, "maxItems")
		add(s.UniqueItems, "uniqueItems")
		add(s.Contains != nil, "contains")
		add(s.MinLength != nil, "minLength")
		add(s.MaxLength != nil, "maxLength")
		add(s.Pattern != nil, "pattern")
		add(s.Minimum != nil, "minimum")
		add(s.Maximum != nil, "maximum")
		for _, sub := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Items2020, s.Then, s.Else}, s.PrefixItems, s.OneOf) {
			walk(sub)
		}
		for _, sub := range s.Properties {
			walk(sub)
		}
		for _, sub := range s.DependentSchemas {
			walk(sub)
		}
	}
	walk(top)
	return list
}

// resealed returns the mutations of a receipt again, each with the digests
// that it states made to follow: else every change would fail for them alone.
func resealed(list []mutation) []mutation {
	var out []mutation
	for _, m := range list {
		doc, ok := m.value.(map[string]any)
		if !ok || !strings.HasPrefix(m.path, "environment") && !strings.HasPrefix(m.path, "binding") {
			continue
		}
		doc = maps.Clone(doc)
		if binding, ok := doc["binding"].(map[string]any); ok {
			binding = maps.Clone(binding)
			if _, ok := binding["environment"]; ok && !strings.HasPrefix(m.path, "binding/environment") {
				binding["environment"] = digest(doc["environment"])
			}
			doc["binding"] = binding
		}
		doc["inputDigest"] = digest(doc["binding"])
		out = append(out, mutation{m.path, m.name, doc})
	}
	return out
}

func digest(v any) string {
	h, err := events.DigestOf(v)
	if err != nil {
		panic(err)
	}
	return h.String()
}

func TestNoConfidence(t *testing.T) {
	for _, short := range append(Names(), common) {
		text, err := Text(short)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(text), []byte("confidence")) {
			t.Errorf("%s has a field for confidence", short)
		}
	}
}

// TestSchemasAreClosed checks the texts: every object says that it is closed,
// every text and list has a bound, and $id is the URN.
func TestSchemasAreClosed(t *testing.T) {
	for _, short := range append(Names(), common) {
		text, err := Text(short)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		top, ok := doc.(map[string]any)
		if !ok || top["$id"] != urnPrefix+short+urnSuffix || top["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: $id %v, $schema %v", short, top["$id"], top["$schema"])
		}
		closed(t, short, doc)
	}
}

func closed(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		_, properties := v["properties"]
		switch v["type"] {
		case "object":
			if v["additionalProperties"] != false && !strings.HasSuffix(at, "/contains") {
				t.Errorf("%s is open", at)
			}
		case "array":
			if v["maxItems"] == nil || v["items"] == nil {
				t.Errorf("%s: list without bound or entry", at)
			}
		case "string":
			if v["maxLength"] == nil && v["pattern"] == nil {
				t.Errorf("%s: text without bound", at)
			}
		case "integer":
			if v["minimum"] == nil || v["maximum"] == nil {
				t.Errorf("%s: number without bound", at)
			}
		case "number":
			t.Errorf("%s: not an integer", at)
		case nil:
			if properties && strings.HasSuffix(at, "/items") {
				t.Errorf("%s: object without type", at)
			}
		}
		for k, sub := range v {
			closed(t, at+"/"+k, sub)
		}
	case []any:
		for i, sub := range v {
			closed(t, fmt.Sprint(at, "/", i), sub)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	digest := strings.Repeat("0", 64)
	for name, data := range map[string]string{
		"nothing":       "",
		"two values":    `{"reason":"a"}{"reason":"b"}`,
		"duplicate":     `{"reason":"a","reason":"b"}`,
		"bad UTF-8":     "{\"reason\":\"\xff\"}",
		"other case":    `{"Reason":"a"}`,
		"unknown":       `{"reason":"a","digest":"` + digest + `"}`,
		"not closed":    `{"reason":"a"`,
		"too large":     `{"reason":"a"` + strings.Repeat(" ", maxData) + `}`,
		"not a text":    `{"reason":["a"]}`,
		"no member":     `{}`,
		"not an object": `"reason"`,
	} {
		err := Validate("task.cancelled", []byte(data))
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	hostile := "\x1b[2K\u202e\nverified: pass" + strings.Repeat("A", 9000)
	data, err := events.Canonical(map[string]any{"reason": 1, hostile: 2})
	if err != nil {
		t.Fatal(err)
	}
	err = Validate("task.cancelled", data)
	if !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if strings.ContainsAny(err.Error(), "\x1b\n\u202e") || len(err.Error()) > 3000 {
		t.Errorf("the error carries the data's control characters or is long: %q", err.Error())
	}
}

func TestNothingIsLoaded(t *testing.T) {
	if _, err := (sealed{}).Load("https://example.com/x.json"); !errors.Is(err, ErrUnknown) {
		t.Fatalf("load = %v, want ErrUnknown", err)
	}
}
