package ledger

import (
	"fmt"
	"strings"
)

// Limits of a policy. What parses it and spells its tree takes stack with the
// depth and time with its square, in the one goroutine that writes.
const (
	maxStatements = 64
	maxNesting    = 64  // open brackets
	maxBranches   = 512 // if
	maxOperators  = 512 // characters of operators in a statement: each can be one level
)

// bound refuses a text that leads a parser too deep.
func bound(text string) error {
	code := codeOf(text)
	depth, deepest, operators, most := 0, 0, 0, 0
	for _, c := range []byte(code) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '.', '!', '-', '+', '*', '&', '|', '=', '<', '>':
			operators++
		case ';':
			operators = 0
		}
		deepest, most = max(deepest, depth), max(most, operators)
	}
	switch branches := strings.Count(code, "if"); {
	case deepest > maxNesting:
		return fmt.Errorf("%w: nested %d deep, limit %d", ErrPolicy, deepest, maxNesting)
	case branches > maxBranches:
		return fmt.Errorf("%w: nested %d deep, limit %d", ErrPolicy, branches, maxBranches)
	case most > maxOperators:
		return fmt.Errorf("%w: a statement with %d characters of operators, limit %d", ErrPolicy, most, maxOperators)
	}
	return nil
}

// codeOf returns a text without its comments and what its strings hold: a
// bracket in one of them opens and closes nothing.
func codeOf(text string) string {
	var code strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			code.WriteString(`""`)
		case strings.HasPrefix(text[i:], "//"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
			code.WriteByte('\n')
		default:
			code.WriteByte(text[i])
		}
	}
	return code.String()
}
