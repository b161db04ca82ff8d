package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// webHelp describes the values of --evidence of receipts.
const webHelp = "what else shows the outcome: [check=ID,]kind=screenshot|trace|browser-check|api-response,url=URL,outcome=pass|fail|inconclusive," +
	"artifact=SHA256,commit=SHA of the build; may be repeated"

// The rules by which evidence decides over a check that passed.
const (
	ruleNoEvidence    = "evidence-missing"   // the item asks for some and there is none
	ruleOtherEvidence = "evidence-disagrees" // it does not show a pass
)

// webEvidence is evidence from outside for one check, and the commit whose build
// it is of.
type webEvidence struct {
	check, commit string
	events.Evidence
}

// parseWeb reads one value of --evidence; check is the check when it names none.
func parseWeb(arg, check string) (webEvidence, error) {
	e := webEvidence{check: check}
	for _, field := range splitFields(arg, "check", "kind", "url", "outcome", "artifact", "commit") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "check":
			e.check = value
		case "kind":
			e.Kind = value
		case "url":
			e.URL = value
		case "outcome":
			e.Outcome = events.Outcome(value)
		case "artifact":
			e.Artifact = value
		case "commit":
			e.commit = value
		default:
			return e, fmt.Errorf("%w: --evidence %q: unknown field %q", errUsage, arg, name)
		}
	}
	if e.check == "" || e.Kind == "" || e.URL == "" || e.Outcome == "" || e.commit == "" {
		return e, fmt.Errorf("%w: --evidence %q: check, kind, url, outcome, artifact and commit must be given", errUsage, arg)
	}
	return e, artifactDigest(e.Artifact)
}

// parseWebs reads all values of --evidence.
func parseWebs(args []string, check string) ([]webEvidence, error) {
	var list []webEvidence
	for _, arg := range args {
		e, err := parseWeb(arg, check)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// splitFields splits "a=1,b=2" at commas that begin a known field, so that a value
// may hold commas, as addresses do.
func splitFields(arg string, known ...string) []string {
	var list []string
	for _, part := range strings.Split(arg, ",") {
		name, _, has := strings.Cut(part, "=")
		if len(list) > 0 && (!has || !slices.Contains(known, name)) {
			list[len(list)-1] += "," + part
			continue
		}
		list = append(list, part)
	}
	return list
}

// showing adds evidence to the outcomes and holds them against what their items
// ask for: a pass that lacks it proves nothing. Evidence of another commit's build
// is refused.
func showing(checks []events.CheckOutcome, web []webEvidence, t *projections.Task) error {
	for _, e := range web {
		i := slices.IndexFunc(checks, func(c events.CheckOutcome) bool { return c.ID == e.check })
		if i < 0 {
			return fmt.Errorf("%w: --evidence names check %q, which this receipt has not", errMissing, e.check)
		}
		if head := t.Result.Data.Head; e.commit != head {
			return refuseStale("receipt.recorded/evidence", "evidence is of the build of commit %s, the result's head is %s", e.commit, head)
		}
		if !slices.ContainsFunc(t.Artifacts, func(a projections.Artifact) bool { return a.Data.Digest == e.Artifact }) {
			return withHint(fmt.Errorf("%w: artifact %s is not recorded for task %s", errMissing, e.Artifact, t.ID), "put it first: deed artifact put FILE %s", t.ID)
		}
		checks[i].Evidence = append(checks[i].Evidence, e.Evidence)
	}
	c := t.Contract().Contract
	for i := range checks {
		o := &checks[i]
		if o.Outcome != events.OutcomePass {
			continue
		}
		if slices.ContainsFunc(o.Evidence, func(e events.Evidence) bool { return e.Kind != "" && e.Outcome != events.OutcomePass }) {
			demote(o, ruleOtherEvidence, "evidence does not show a pass")
		} else if what := ledger.Lacking(c.Item(o.Acceptance), o); what != "" {
			demote(o, ruleNoEvidence, "the item asks for "+what)
		}
	}
	return nil
}

// demote makes an outcome that passed prove nothing.
func demote(o *events.CheckOutcome, rule, note string) {
	o.Outcome, o.Class, o.Rule = events.OutcomeInconclusive, events.ClassInconclusive, rule
	if len(o.Notes) < 16 {
		o.Notes = append(o.Notes, printable(plain(note), noteWindow))
	}
}
