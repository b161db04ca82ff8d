package ledger

import (
	"fmt"

	"github.com/deedledger/deed/projections"
)

// Lack is one thing that keeps a result from being delivered.
type Lack struct {
	Code Code   `json:"code"`
	Rule string `json:"rule"` // one word, such as evidence
	Text string `json:"text"`
}

// Undelivered returns everything that keeps the current result of a task from
// being delivered at an instant, in ns of the service's clock: what checkDelivery
// would refuse on, and what bars every step forward. policy is the digest of
// the policy in force. Nothing of it is asked from anybody outside the ledger.
// It is pure.
func Undelivered(t *projections.Task, policy string, now int64) []Lack {
	if t.Blocked != nil {
		return []Lack{{CodeDamage, "blocked", "its history is damaged: " + t.Blocked.Reason}}
	}
	if t.State == projections.Delivered {
		return nil
	}
	list := lacksOf(t, now)
	lack := func(code Code, rule, format string, args ...any) {
		list = append(list, Lack{code, rule, fmt.Sprintf(format, args...)})
	}
	if f := t.FatalFinding(); f != nil {
		lack(CodeRule, "finding", "fatal finding %s (%s) is open", f.EventID, f.Data.Rule)
	}
	if v := t.Violated(); v != nil {
		lack(CodeBoundary, "boundary", "tree %s is outside the boundary (%s)", v.Data.Tree, v.EventID)
	}
	if t.Stale() {
		lack(CodeStale, "contract", "the result is of another version of the contract than the accepted one")
	}
	if a := t.Attempt(); a != nil && a.Snapshot.Inputs.Policy != policy {
		lack(CodeStale, "policy", "another policy is in force than the attempt pinned")
	}
	if p := t.Pause; p != nil {
		lack(CodeState, "paused", "%s paused the task", p.Actor)
	}
	if len(list) == 0 && t.State != projections.Approved && t.State != projections.Releasing {
		lack(CodeState, "state", "the task is %s", t.State)
	}
	return list
}

// lacksOf returns what a task's result lacks for a delivery under any commit.
func lacksOf(t *projections.Task, now int64) []Lack {
	var list []Lack
	lack := func(code Code, word, format string, args ...any) {
		list = append(list, Lack{code, word, fmt.Sprintf(format, args...)})
	}
	c := t.Contract()
	if c == nil || t.Result == nil {
		lack(CodeState, "result", "there is no result to deliver")
		return list
	}
	if expired(c.Contract.Expires, now) {
		lack(CodeStale, "expired", "the contract expired at %s", c.Contract.Expires)
	}
	if v := t.Verdict(); v != projections.ItemPass {
		lack(CodeRule, "evidence", "the required items are not proven: %s", v)
	}
	if !t.Quorum() {
		lack(CodeRule, "quorum", "%d approvals count, %d are needed", len(t.Approvers()), t.Needed())
	}
	if open := t.OpenEffects(); len(open) > 0 {
		lack(CodeEffect, "effects", "effects are open: %v", open)
	}
	return list
}

// AtHead reports whether exactly a commit is what a task has to deliver, or has
// delivered. Another commit of the same tree is another head: an approval is
// carried to it by a new event only.
func AtHead(t *projections.Task, commit string) bool {
	if t.Result != nil && t.Result.Data.Head == commit {
		return true
	}
	return t.Delivery != nil && t.Delivery.Data.Commit == commit
}
