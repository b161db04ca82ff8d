package ledger

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// ErrPolicy says that a policy cannot be published: it is no Cedar, it
// permits, it is too large, or two statements have one id.
var ErrPolicy = errors.New("bad policy")

// Policy is a compiled policy. It can only forbid: what the rules refuse stays
// refused, whatever it says. One value serves any number of readers.
type Policy struct {
	digest     string
	tiers      events.Tiers
	statements []statement
	// broken says why a published policy does not compile: it forbids
	// everything.
	broken error
}

// statement is one Cedar statement.
type statement struct {
	id, reason string
	policy     *cedar.Policy
}

// All makes a statement a set of one.
func (s statement) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) { yield(cedar.PolicyID(s.id), s.policy) }
}

// Ban is why a policy forbids an event.
type Ban struct {
	// Policy is the statement's id, or the level of automation.
	Policy string `json:"policy"`
	Reason string `json:"reason"`
}

// CompilePolicy parses the data of policy.published. It returns ErrPolicy,
// with the statement at fault.
func CompilePolicy(d *events.Policy) (*Policy, error) {
	p := &Policy{tiers: d.Automation}
	if err := bound(d.Cedar); err != nil {
		return nil, err
	}
	list, err := cedar.NewPolicyListFromBytes("", []byte(d.Cedar))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	if len(list) > maxStatements {
		return nil, fmt.Errorf("%w: %d statements, limit %d", ErrPolicy, len(list), maxStatements)
	}
	for i, c := range list {
		s, err := newStatement(i, c)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.statements, func(other statement) bool { return other.id == s.id }) {
			return nil, fmt.Errorf("%w: two statements have the id %q", ErrPolicy, s.id)
		}
		p.statements = append(p.statements, s)
	}
	return p, nil
}

// newStatement names a statement by its @id, else by its number from 1.
func newStatement(i int, c *cedar.Policy) (statement, error) {
	s := statement{id: fmt.Sprintf("policy-%d", i+1), policy: c}
	if c.Effect() != cedar.Forbid {
		return s, fmt.Errorf("%w: statement %d permits; a policy only forbids what the rules allow", ErrPolicy, i+1)
	}
	if err := checkNames(c); err != nil {
		return s, fmt.Errorf("%w: statement %d: %w", ErrPolicy, i+1, err)
	}
	for name, value := range c.Annotations() {
		switch text := string(value); name {
		case "id":
			if len(text) > 64 || !oneLine(text) || strings.ContainsFunc(text, unicode.IsSpace) {
				return s, fmt.Errorf("%w: statement %d: @id %.80q is no word of 1 to 64 bytes", ErrPolicy, i+1, text)
			}
			s.id = text
		case "reason":
			if !oneLine(text) {
				return s, fmt.Errorf("%w: statement %d: @reason is no line of 1 to %d bytes", ErrPolicy, i+1, events.MaxLine)
			}
			s.reason = text
		}
	}
	return s, nil
}

// oneLine reports whether a text can stand in a line of a refusal.
func oneLine(text string) bool {
	return text != "" && len(text) <= events.MaxLine && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// policyOf returns the compiled policy in force, nil when none was published.
// It remembers the last one, by digest: what it returns does not depend on
// what it remembers.
func (r *Rules) policyOf(g *projections.Registry) *Policy {
	if g.Published == nil {
		return nil
	}
	if p := r.compiled.Load(); p != nil && p.digest == g.Published.Digest {
		return p
	}
	p := PolicyInForce(g)
	r.compiled.Store(p)
	return p
}

// PolicyInForce compiles the policy in force; nil when none was published. One
// that does not compile forbids everything.
func PolicyInForce(g *projections.Registry) *Policy {
	if g.Published == nil {
		return nil
	}
	p, err := CompilePolicy(&g.Published.Data)
	if err != nil {
		p = &Policy{broken: err}
	}
	p.digest = g.Published.Digest
	return p
}

// Bans returns why the policy forbids an event, in order of its statements;
// none where it does not. A statement that cannot be evaluated forbids. A nil
// policy forbids nothing.
func (p *Policy) Bans(q Question) []Ban {
	if p == nil || q.exempt() {
		return nil
	}
	if p.broken != nil {
		return []Ban{{Policy: "policy", Reason: "the policy cannot be read: " + p.broken.Error()}}
	}
	var bans []Ban
	if b := banByAutomation(p.tiers, q); b != nil {
		bans = append(bans, *b)
	}
	if len(p.statements) == 0 {
		return bans
	}
	entities, request := q.cedar(p.tiers)
	for _, s := range p.statements {
		if forbidden, err := s.ask(entities, request); err != nil {
			bans = append(bans, Ban{Policy: s.id, Reason: "it cannot be evaluated, so it forbids: " + err.Error()})
		} else if forbidden {
			bans = append(bans, Ban{Policy: s.id, Reason: s.reason})
		}
	}
	return bans
}

// ask evaluates one statement. A library that panics is an error like any
// other: the same event must not stop every restart.
func (s statement) ask(entities cedar.EntityMap, request cedar.Request) (forbidden bool, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			forbidden, err = false, fmt.Errorf("evaluate: %v", fault)
		}
	}()
	_, found := cedar.Authorize(s, entities, request)
	if len(found.Errors) > 0 {
		return false, errors.New(found.Errors[0].Message)
	}
	return len(found.Reasons) > 0, nil
}

// Statement is one statement of a policy, for people.
type Statement struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitzero"`
	Text   string `json:"text"`
}

// Statements returns the statements of a policy in their order; none of nil.
func (p *Policy) Statements() []Statement {
	list := []Statement{}
	if p == nil {
		return list
	}
	for _, s := range p.statements {
		list = append(list, Statement{ID: s.id, Reason: s.reason, Text: string(s.policy.MarshalCedar())})
	}
	return list
}
