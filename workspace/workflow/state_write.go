package workflow

import (
	"slices"
	"strings"
)

// Rewrite returns a text of state.yaml that says what s says: with the lines of
// what has changed replaced, every comment kept, and all else as it was. Without
// a text it is that of a new file. Error: [ErrState], for the text.
func Rewrite(text []byte, s State) ([]byte, error) {
	if text == nil {
		return s.Text(), nil
	}
	f, err := readState(text)
	if err != nil {
		return nil, err
	}
	if f.state.Equal(s) {
		return text, nil
	}
	out := []byte(strings.Join(f.rewritten(s), "\n"))
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	if got, err := ParseState(out); err == nil && got.Equal(s) {
		return out, nil
	}
	return f.afresh(s), nil
}

// afresh is a new text with all comments of the old one at its head: for an
// unusual layout in which lines cannot be replaced one by one.
func (f *stateFile) afresh(s State) []byte {
	kept := comments(f.lines, "")
	if len(kept) == 0 {
		return s.Text()
	}
	_, body, _ := strings.Cut(string(s.Text()), "\ntask_id:")
	return []byte(strings.Join(kept, "\n") + "\ntask_id:" + body)
}

// rewritten replaces the members that differ.
func (f *stateFile) rewritten(s State) []string {
	out := slices.Clone(f.lines[:f.keys[0].line])
	for i, k := range f.keys {
		end := len(f.lines)
		if i+1 < len(f.keys) {
			end = f.keys[i+1].line
		}
		value, rest := split(f.lines[k.line:end])
		switch before, after := f.state.member(k.name), s.member(k.name); {
		case before == after:
			out = append(out, value...)
		case k.name == "checks" && len(f.items) > 0 && len(f.items) == len(f.state.Checks) && len(s.Checks) > 0:
			out = append(out, f.entries(k.line, k.line+len(value), s)...)
		default:
			out = append(out, replaced(value, k.name+":", after, "")...)
		}
		out = append(out, rest...)
	}
	var missing []string
	for _, m := range members() {
		known := slices.ContainsFunc(f.keys, func(k place) bool { return k.name == m })
		if !known && s.member(m) != (State{}).member(m) {
			missing = append(missing, strings.Split(m+":"+s.member(m), "\n")...)
		}
	}
	if len(missing) > 0 { // before the last line's end
		for len(out) > 0 && out[len(out)-1] == "" {
			out = out[:len(out)-1]
		}
		out = append(append(out, missing...), "")
	}
	return out
}

// entries replaces the entries of checks, which stand on the lines from to end.
func (f *stateFile) entries(from, end int, s State) []string {
	out := slices.Clone(f.lines[from:f.items[0].line])
	line := f.lines[f.items[0].line]
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	for i, item := range f.items {
		stop := end
		if i+1 < len(f.items) {
			stop = f.items[i+1].line
		}
		value, rest := split(f.lines[item.line:stop])
		at := slices.IndexFunc(s.Checks, func(c Check) bool { return c.ID == item.name })
		switch {
		case at < 0:
			out = append(out, comments(value, indent)...)
		case s.Checks[at] == f.state.Check(item.name):
			out = append(out, value...)
		default:
			out = append(out, replaced(value, indent+item.name+":", " "+s.Checks[at].value(), indent)...)
		}
		out = append(out, rest...)
	}
	for _, c := range s.Checks {
		if !slices.ContainsFunc(f.items, func(p place) bool { return p.name == c.ID }) {
			out = append(out, indent+c.ID+": "+c.value())
		}
	}
	return out
}

// split divides the lines of a member into its value and the empty and comment
// lines after it.
func split(lines []string) (value, rest []string) {
	n := len(lines)
	for n > 1 {
		if t := strings.TrimSpace(lines[n-1]); t != "" && t[0] != '#' {
			break
		}
		n--
	}
	return lines[:n], lines[n:]
}

// replaced is a member with a new value. Its comments stay: the one comment of
// its first line at that line's end, all others above it.
func replaced(old []string, key, value, indent string) []string {
	first := strings.Split(key+value, "\n")
	trailing := comment(old[0])
	above := comments(old[1:], indent)
	if trailing != "" {
		first[0] += " " + trailing
	}
	return append(above, first...)
}

// comments collects the comments of lines, each as a line of its own.
func comments(lines []string, indent string) []string {
	var list []string
	for _, line := range lines {
		if c := comment(line); c != "" {
			list = append(list, indent+c)
		}
	}
	return list
}

// comment returns the comment that ends a line, "" for none: from a # that
// begins the line or follows a space, outside quotes.
func comment(line string) string {
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:\t", line[i-1]) >= 0):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return strings.TrimRight(line[i:], " \t")
		}
	}
	return ""
}
