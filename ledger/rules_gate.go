package ledger

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// checkSeparation refuses an author who took part in what is to be judged: by
// actor, by principal, or by a git identity in the result's range. In a solo
// ledger one principal may judge with an actor of another kind.
func checkSeparation(s *scene) *Refusal {
	rule := "separation"
	registry := &s.ledger.Registry
	solo := registry.Genesis.Profile == "solo"
	conflict := func(other *projections.Actor, how string) *Refusal {
		switch {
		case other == nil:
			return nil
		case other.Name == s.author.Name:
			return refuse(CodeRule, rule, "%s %s", s.author.Name, how)
		case other.Principal != s.author.Principal:
			return nil
		case solo && other.Kind != s.author.Kind:
			return nil
		}
		return refuse(CodeRule, rule, "%s and %s are both %s's, and %s %s", s.author.Name, other.Name, other.Principal, other.Name, how)
	}
	for _, name := range s.task.Contributors {
		if refusal := conflict(registry.Actor(name), "took part in the work on this task"); refusal != nil {
			return refusal
		}
	}
	if s.task.Result == nil {
		return nil
	}
	for _, email := range s.task.Result.Data.Authors {
		for _, a := range registry.ByGitIdentity(email) {
			if refusal := conflict(a, "has a commit in the range"); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

func checkReceipt(s *scene, d *events.Receipt) *Refusal {
	rule := s.row.Name()
	if s.task.Result == nil || s.task.Contract() == nil {
		return refuse(CodeState, rule, "there is no result to verify")
	}
	if refusal := checkSeparation(s); refusal != nil {
		return refusal
	}
	if want := verifierKind(s.author.Kind); d.Verifier.Kind != want {
		return refuse(CodeRule, rule+"/verifier", "%s is of kind %s: verifier.kind must be %s", s.author.Name, s.author.Kind, want)
	}
	if degraded(s) && d.Verifier.Assurance != events.AssuranceDegraded {
		return refuse(CodeRule, rule+"/assurance", "verifier and implementer share a principal: assurance must be %s", events.AssuranceDegraded)
	}
	if want := s.task.Result.Data.Head; d.Head != want {
		return refuse(CodeStale, rule+"/binding", "the result's head is %s", want)
	}
	if !s.task.Current(&projections.Receipt{Data: *d}) {
		return refuse(CodeStale, rule+"/binding", "the receipt is not about the current contract, checks, policy, result and tree")
	}
	for _, r := range s.task.Receipts {
		if r.Data.Nonce == d.Nonce {
			return refuse(CodeRule, rule+"/nonce", "the nonce is that of receipt %s", r.EventID)
		}
	}
	return checkOutcomes(s, d)
}

// verifierKind maps an actor's kind to what a receipt calls it.
func verifierKind(k events.Kind) string {
	if k == events.KindAgent {
		return "isolated-agent"
	}
	return string(k)
}

// checkOutcomes makes sure that a receipt speaks of the contract's checks and
// of the commands that the contract pinned.
func checkOutcomes(s *scene, d *events.Receipt) *Refusal {
	c := s.task.Contract().Contract
	for _, got := range d.Checks {
		item := c.Item(got.Acceptance)
		if item == nil {
			return refuse(CodeNotFound, s.row.Name()+"/check", "the contract has no acceptance item %s", got.Acceptance)
		}
		i := slices.IndexFunc(item.Checks, func(want events.Check) bool { return want.ID == got.ID })
		if i < 0 {
			return refuse(CodeNotFound, s.row.Name()+"/check", "item %s has no check %s", item.ID, got.ID)
		}
		if !slices.Equal(item.Checks[i].Command, got.Command) {
			return refuse(CodeRule, s.row.Name()+"/check", "check %s is pinned to %q", got.ID, strings.Join(item.Checks[i].Command, " "))
		}
		if refusal := checkShown(s, d, item, &got); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkRepairRequest(s *scene, d *events.RepairRequest) *Refusal {
	c := s.task.Contract().Contract
	for _, id := range d.Items {
		if c.Item(id) == nil {
			return refuse(CodeNotFound, s.row.Name(), "the contract has no acceptance item %s", id)
		}
	}
	if !s.task.Disproven() {
		return refuse(CodeRule, s.row.Name(), "no check failed on the current input and nobody rejected it")
	}
	return nil
}

func checkRepairAcceptance(s *scene, d *events.RepairAcceptance) *Refusal {
	rule := s.row.Name()
	r := s.task.Repair
	switch {
	case r == nil:
		return refuse(CodeState, rule, "no repair is queued")
	case r.Accepted:
		return refuse(CodeState, rule, "the repair is accepted already")
	case r.Kind != d.Kind:
		return refuse(CodeStale, rule, "the queued repair is of kind %s", r.Kind)
	case r.Compensate != "" && !s.author.Has(events.RoleOwner):
		return refuse(CodeRule, rule+"/compensation", "the owner accepts a compensation")
	}
	return nil
}

func checkApproval(s *scene, d *events.Approval) *Refusal {
	rule := s.row.Name()
	if refusal := checkSeparation(s); refusal != nil {
		return refusal
	}
	c, r := s.task.Contract(), s.task.Result
	if c == nil || r == nil {
		return refuse(CodeState, rule, "there is no result to review")
	}
	if refusal := checkSolo(s, d); refusal != nil {
		return refusal
	}
	for _, defect := range d.Defects {
		if defect.Acceptance != "" && c.Contract.Item(defect.Acceptance) == nil {
			return refuse(CodeNotFound, rule+"/defect", "the contract has no acceptance item %s", defect.Acceptance)
		}
	}
	switch {
	case len(c.Contract.Reviewers) > 0 && !slices.Contains(c.Contract.Reviewers, s.author.Name):
		return refuse(CodeRule, rule+"/reviewers", "the contract names its reviewers: %s", strings.Join(c.Contract.Reviewers, ", "))
	case d.Contract != c.Digest:
		return refuse(CodeStale, rule+"/contract", "the accepted contract is %s", c.Digest)
	case d.Result != r.Hash:
		return refuse(CodeStale, rule+"/result", "the current result is %s", r.Hash)
	case d.Head != r.Data.Head || d.Tree != r.Data.Tree:
		return refuse(CodeStale, rule+"/head", "the result is head %s, tree %s", r.Data.Head, r.Data.Tree)
	case d.Packet != reviewDigest(s.task):
		return refuse(CodeStale, rule+"/packet", "the review packet is not the current one: read it again")
	case d.Verdict == "approve" && s.task.Verdict() != projections.ItemPass:
		return refuse(CodeRule, rule+"/evidence", "the required items are not proven: %s", s.task.Verdict())
	case d.Verdict == "approve":
		return checkSecond(s)
	}
	return nil
}

// checkSecond lets a person count once: a quorum is of people, and a second
// actor of the same principal is none.
func checkSecond(s *scene) *Refusal {
	for _, name := range s.task.Approvers() {
		if name == s.author.Name {
			return refuse(CodeState, s.row.Name(), "%s approved this already", name)
		}
		if a := s.ledger.Registry.Actor(name); a != nil && a.Principal == s.author.Principal {
			return refuse(CodeRule, "separation", "%s, who approved this, is also %s's", name, a.Principal)
		}
	}
	return nil
}

// reviewDigest returns the digest of the task's review packet, which an
// approval names: it says what the reviewer was shown.
func reviewDigest(t *projections.Task) string {
	_, digest, err := projections.ReviewPacket(t).Encode(0)
	if err != nil {
		return ""
	}
	return digest.String()
}

// checkDelivery checks everything once more that led to Approved.
func checkDelivery(s *scene, d *events.Delivery) *Refusal {
	rule := s.row.Name()
	if s.task.State == projections.Releasing {
		if refusal := checkReleaseHolder(s); refusal != nil {
			return refusal
		}
	}
	c, r := s.task.Contract(), s.task.Result
	switch {
	case c == nil || r == nil:
		return refuse(CodeState, rule, "there is no result to deliver")
	case d.Contract != c.Digest || d.Result != r.Hash:
		return refuse(CodeStale, rule, "contract or result is not the approved one")
	case d.Target != c.Contract.Target:
		return refuse(CodeRule, rule+"/target", "the contract's target is %q", c.Contract.Target)
	case d.Tree != r.Data.Tree:
		return refuse(CodeRule, rule+"/tree", "tree %s on the target is not the approved tree %s", d.Tree, r.Data.Tree)
	}
	for _, lack := range lacksOf(s.task, s.Admitted) {
		return refuse(lack.Code, rule+"/"+lack.Rule, "%s", lack.Text)
	}
	return checkMerged(s, d)
}

// checkReleaseHolder makes sure that a running release is delivered by the
// actor that runs it. A delivery names no fence: it ends the run.
func checkReleaseHolder(s *scene) *Refusal {
	if l := s.task.Lease; l == nil || l.Actor != s.author.Name {
		return refuse(CodeFence, s.row.Name()+"/fence", "another operator runs the release")
	}
	return nil
}
