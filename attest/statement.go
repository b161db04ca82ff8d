package attest

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
)

// The names of the formats that are written.
const (
	PayloadType   = "application/vnd.in-toto+json"
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// The results of a statement.
const (
	ResultPassed = "PASSED"
	ResultWarned = "WARNED"
	ResultFailed = "FAILED"
)

// ErrStatement means that bytes are no statement as this package writes it.
var ErrStatement = errors.New("not a test-result statement of a receipt")

// Resource is in-toto's ResourceDescriptor, as far as it is used here.
type Resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"` // algorithm to lower hex
}

// TestResult is the predicate test-result v0.1.
type TestResult struct {
	Result        string     `json:"result"`
	Configuration []Resource `json:"configuration"`
	URL           string     `json:"url,omitzero"`
	PassedTests   []string   `json:"passedTests,omitempty"`
	WarnedTests   []string   `json:"warnedTests,omitempty"`
	FailedTests   []string   `json:"failedTests,omitempty"`
}

// Statement is an in-toto Statement v1 with a TestResult.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     TestResult `json:"predicate"`
}

// About is what an attestation is about.
type About struct {
	Commit  string      // the result's head
	Tree    string      // its git tree
	Attempt events.Hash // eventhash of attempt.opened
}

// Of makes the statement of a receipt. receipt is the eventhash of receipt.recorded.
// It returns ErrStatement for a receipt that is not valid, or of another commit or
// tree than about names.
func Of(about About, r *events.Receipt, receipt events.Hash) (Statement, error) {
	if err := r.Validate(); err != nil {
		return Statement{}, fmt.Errorf("make statement: %w: %w", ErrStatement, err)
	}
	if r.Head != about.Commit || r.Binding.Tree != about.Tree {
		return Statement{}, fmt.Errorf("make statement: %w: the receipt is of commit %s, tree %s", ErrStatement, r.Head, r.Binding.Tree)
	}
	s := Statement{Type: StatementType, Subject: about.subjects(), PredicateType: PredicateType}
	p := &s.Predicate
	for _, d := range [...][2]string{
		{"contract", r.Binding.Contract}, {"checks", r.Binding.Checks}, {"policy", r.Binding.Policy},
		{"environment", r.Binding.Environment}, {"input", r.InputDigest}, {"receipt", receipt.String()},
	} {
		p.Configuration = append(p.Configuration, Resource{d[0], map[string]string{"sha256": d[1]}})
	}
	if p.URL = r.RunURL; p.URL == "" && r.Source != nil {
		p.URL = r.Source.URL
	}
	p.Result = ResultPassed
	for _, c := range r.Checks {
		name := c.Acceptance + "/" + c.ID
		switch {
		case c.Outcome == events.OutcomeFail:
			p.FailedTests = append(p.FailedTests, name)
			p.Result = ResultFailed
		case c.Outcome != events.OutcomePass:
			p.WarnedTests = append(p.WarnedTests, name)
			p.Result = ResultFailed
		case c.Flaky || len(c.Notes) > 0:
			p.WarnedTests = append(p.WarnedTests, name)
			if p.Result == ResultPassed {
				p.Result = ResultWarned
			}
		default:
			p.PassedTests = append(p.PassedTests, name)
		}
	}
	return s, nil
}

// subjects lists what a statement is about, in the order of the format.
func (a About) subjects() []Resource {
	return []Resource{
		{"commit", map[string]string{"gitCommit": a.Commit}},
		{"tree", map[string]string{"gitTree": a.Tree}},
		{"attempt", map[string]string{"sha256": a.Attempt.String()}},
	}
}
