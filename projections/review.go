package projections

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// ReviewSchema names the form of a review packet.
const ReviewSchema = "deed.packet.review/v1"

// Review is the review packet: what a person needs in order to approve or
// reject a result. It depends on no reader, registry or approval of the
// result, so that the members of a quorum name one digest; it changes with
// contract, result, receipts, findings, effects and recoveries.
type Review struct {
	Schema   string     `json:"schema"`
	Ledger   string     `json:"ledger"`
	Task     string     `json:"task"`
	Goal     string     `json:"goal"`
	NonGoals []string   `json:"nonGoals"`
	RiskTier string     `json:"riskTier"`
	Target   string     `json:"target"`
	Basis    Basis      `json:"basis"`
	Result   ResultView `json:"result"`
	// Changes are the changed paths and the items that each serves.
	Changes    []FileView   `json:"changes"`
	Acceptance []Acceptance `json:"acceptance"`
	Totals     Totals       `json:"totals"`
	// Unproven are items without a pass on the current input.
	Unproven []string      `json:"unproven"`
	Failing  []Failing     `json:"failing"`
	Receipts []ReceiptView `json:"receipts"`
	Effects  []EffectView  `json:"effects"`
	Findings []FindingView `json:"findings"`
	// Unmapped counts the addresses in the range that no actor commits under;
	// any of them asks for a second reviewer.
	Unmapped   int              `json:"unmapped,omitzero"`
	Repairs    int64            `json:"repairs"` // repairs that the task has needed
	Recoveries []RecoveryRecord `json:"recoveries"`
	Questions  []string         `json:"questions"`
	Untrusted  Untrusted        `json:"untrusted"`
	Truncated  []Cut            `json:"truncated,omitempty"`
	WorkView
}

// Basis names what an approval is about. It is never left off a packet.
type Basis struct {
	Contract string `json:"contract"` // contract digest
	Version  int64  `json:"version"`
	Policy   string `json:"policy"` // digest that the attempt pinned
	Result   string `json:"result"` // eventhash of result.recorded
	Head     string `json:"head"`
	Tree     string `json:"tree"`
	// Receipts is the SHA-256 of the list of the eventhashes of all receipts on
	// the current input, whether they are listed or left off.
	Receipts string `json:"receipts"`
}

// ReceiptView is a receipt on the current input.
type ReceiptView struct {
	EventID     string        `json:"eventId"`
	Hash        string        `json:"hash"`
	Actor       string        `json:"actor"`
	Kind        string        `json:"kind"`
	Assurance   string        `json:"assurance"`
	Confinement string        `json:"confinement,omitzero"` // landlock-N or none
	ObservedAt  string        `json:"observedAt"`           // a claim of the verifier
	InputDigest string        `json:"inputDigest"`
	Checks      []OutcomeView `json:"checks"`
}

// OutcomeView is the outcome of one check.
type OutcomeView struct {
	ID         string         `json:"id"`
	Acceptance string         `json:"acceptance"`
	Outcome    events.Outcome `json:"outcome"`
	Class      events.Class   `json:"class"`
	Executed   int64          `json:"executed,omitzero"`
	Artifact   string         `json:"artifact"`
	// Counts are those of the check's test report. Flaky says that it was not
	// the same each time.
	Counts *events.Counts `json:"counts,omitempty"`
	Flaky  bool           `json:"flaky,omitzero"`
}

// RecoveryRecord is one decision in the history of a task.
type RecoveryRecord struct {
	Decision string          `json:"decision"`
	Actor    string          `json:"actor"`
	Position events.Position `json:"position"`
}

// ReviewPacket returns the review packet of t. Without an accepted contract
// and a result, Basis is empty and there is nothing to approve.
func ReviewPacket(t *Task) Review {
	r := Review{
		Schema: ReviewSchema, Ledger: t.Ledger, Task: t.ID, NonGoals: []string{}, Changes: t.files(),
		Acceptance: t.acceptance(), Unproven: []string{}, Failing: t.failingChecks(), Receipts: []ReceiptView{},
		Effects: t.effectViews(), Findings: t.risks().Findings, Repairs: t.Repairs, Recoveries: []RecoveryRecord{},
		Untrusted: t.untrustedReview(), Unmapped: len(t.Unmapped()),
	}
	r.Totals, r.WorkView = totals(r.Acceptance), t.reviewWork()
	r.Untrusted.Decisions = t.quoteDecisions(&r.WorkView)
	r.Untrusted.Defects = append(r.Untrusted.Defects, t.quoteReports()...)
	if c := t.Contract(); c != nil {
		r.Goal, r.NonGoals = c.Contract.Goal, slices.Concat(r.NonGoals, c.Contract.NonGoals)
		r.RiskTier, r.Target = c.Contract.RiskTier, c.Contract.Target
		r.Basis.Contract, r.Basis.Version = c.Digest, c.Contract.Version
	}
	for _, a := range r.Acceptance {
		if a.Status != ItemPass {
			r.Unproven = append(r.Unproven, a.ID)
		}
	}
	hashes := []string{}
	current := t.current()
	for i := range t.Receipts {
		if current(&t.Receipts[i]) {
			r.Receipts = append(r.Receipts, viewReceipt(&t.Receipts[i]))
			hashes = append(hashes, t.Receipts[i].Hash)
		}
	}
	if v, a := t.resultView(), t.Attempt(); v != nil && a != nil {
		r.Result = *v
		r.Basis.Result, r.Basis.Head, r.Basis.Tree, r.Basis.Policy = v.Hash, v.Head, v.Tree, a.Snapshot.Inputs.Policy
		if h, err := events.DigestOf(hashes); err == nil {
			r.Basis.Receipts = h.String()
		}
	}
	for _, d := range t.Decisions {
		r.Recoveries = append(r.Recoveries, RecoveryRecord{d.Decision, d.Actor, d.Position})
	}
	r.Questions = r.questions(t)
	return r
}

func viewReceipt(r *Receipt) ReceiptView {
	confinement, _, _ := strings.Cut(r.Data.Verifier.Confinement, ":") // the reason is the verifier's own text
	v := ReceiptView{
		EventID: r.EventID, Hash: r.Hash, Actor: r.Actor, Kind: r.Data.Verifier.Kind, Assurance: r.Data.Verifier.Assurance, Confinement: confinement,
		ObservedAt: r.Data.ObservedAt, InputDigest: r.Data.InputDigest, Checks: []OutcomeView{},
	}
	for _, c := range r.Data.Checks {
		v.Checks = append(v.Checks, OutcomeView{c.ID, c.Acceptance, c.Outcome, c.Class, c.Executed, c.Artifact, c.Counts, c.Flaky})
	}
	return v
}

// untrustedReview gathers the texts of agents. It leaves verdicts on the
// current result out: they must not change the packet.
func (t *Task) untrustedReview() Untrusted {
	u := Untrusted{
		Notice: notice, Findings: t.quoteFindings(), Outputs: t.quoteOutputs(), Effects: t.quoteEffects(true), Notes: t.quoteReceipts(),
	}
	t.quoteClaims(&u)
	for _, email := range t.Unmapped() {
		u.Notes = append(u.Notes, Quote{"commit by an identity that nobody mapped", "", email})
	}
	for i := len(t.Approvals) - 1; i >= 0; i-- {
		a := t.Approvals[i]
		if t.Result == nil || a.Data.Verdict != "reject" || a.Data.Result == t.Result.Hash {
			continue
		}
		for _, d := range a.Data.Defects {
			u.Defects = append(u.Defects, Quote{"earlier rejection, " + d.Severity, a.Actor, d.Text})
		}
		break
	}
	return u
}

// questions returns what the reviewer has to decide, from facts alone.
func (r *Review) questions(t *Task) []string {
	list := []string{}
	ask := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	ask(r.Basis.Result == "", "There is no result: there is nothing to approve.")
	ask(t.Stale(), "The attempt works on an older contract than the accepted one: it cannot be approved.")
	loose := 0
	for _, a := range r.Acceptance {
		ask(a.Required && a.Status != ItemPass, "%s is required and %s: it is not proven.", a.ID, a.Status)
		ask(!a.Required && a.Status != ItemPass, "%s is optional and %s: is that good enough?", a.ID, a.Status)
		ask(a.Evidence != "test" && a.Evidence != "", "%s asks for %s: have you looked at it yourself?", a.ID, a.Evidence)
	}
	for _, c := range r.Changes {
		if len(c.Acceptance) == 0 {
			loose++
		}
	}
	ask(r.Unmapped > 0, "%d identities in the range belong to no actor: whose commits are they? A second reviewer is needed until an admin maps them.", r.Unmapped)
	ask(loose > 0, "%d changed paths serve no acceptance item: do they belong to this task?", loose)
	ask(len(r.Untrusted.Uncovered) > 0, "The result leaves %d points uncovered: is that good enough?", len(r.Untrusted.Uncovered))
	for _, v := range r.Receipts {
		ask(v.Assurance != "isolated", "Receipt %s has assurance %s: is that independent enough?", v.EventID, v.Assurance)
		// Receipts that name no confinement are of before this question.
		ask(v.Assurance == events.AssuranceDegraded && v.Confinement != "",
			"Receipt %s is of the principal who did the work: your approval stands for the independent receipt. Have you seen the checks pass yourself?", v.EventID)
		for _, c := range v.Checks {
			ask(c.Flaky, "Check %s of item %s was not the same each time on this input: is it to be trusted?", c.ID, c.Acceptance)
		}
	}
	open := 0
	for _, e := range r.Effects {
		if e.Open {
			open++
		}
	}
	ask(open > 0, "%d effects are open: nobody knows yet what happened outside.", open)
	for _, f := range r.Findings {
		ask(true, "Finding %s (%s) is open: acknowledge it, or reject.", f.ID, f.Severity)
	}
	ask(len(r.Violations) > 0, "%d trees are recorded as outside the boundary: has the work been steered clear of it?", len(r.Violations))
	ask(len(r.Defects) > 0, "%d defects are reported: are they mended, or to be lived with?", len(r.Defects))
	for _, d := range r.Decisions {
		ask(!d.Grounded, "Decision %s rests on quarantined evidence alone: does it still hold?", d.Decision)
	}
	ask(r.RiskTier == "production", "The risk tier is production: is the way back known?")
	ask(r.Basis.Result != "", "Does the change reach the goal, and leave the non-goals alone?")
	return list
}

// Fit is as [Resume.Fit]. Basis, result and totals always stay.
func (r Review) Fit(limit int) (Review, error) {
	before := r.Truncated
	err := fit(limit, r.shrinks(), func(cuts []Cut) ([]byte, error) {
		r.Truncated = slices.Concat(before, cuts)
		return events.Canonical(r)
	})
	if err != nil {
		return Review{}, err
	}
	return r, nil
}

// Encode is as [Resume.Encode]. An approval names the digest of Encode(0).
func (r Review) Encode(limit int) ([]byte, events.Hash, error) {
	r, err := r.Fit(limit)
	if err != nil {
		return nil, events.Hash{}, err
	}
	return sealPacket(r)
}

// shrinks is the fixed order in which a review packet gets shorter.
func (r *Review) shrinks() []shrink {
	return append(append(r.Untrusted.shrinks(), r.WorkView.shrinks()...),
		shrinkOldest("recoveries", &r.Recoveries),
		shrinkSettled("effects", &r.Effects),
		shrinkOldest("receipts", &r.Receipts),
		shrinkList("changes", &r.Changes),
		shrinkTexts("acceptance.text", &r.Acceptance, 200),
		shrinkTexts("acceptance.text", &r.Acceptance, 40),
		shrinkList("effects", &r.Effects),
		shrinkList("failing", &r.Failing),
		shrinkText("goal", &r.Goal, 1000),
		shrinkList("acceptance", &r.Acceptance),
		shrinkList("nonGoals", &r.NonGoals),
		shrinkList("findings", &r.Findings),
		shrinkList("unproven", &r.Unproven),
		shrinkList("questions", &r.Questions),
	)
}
