package projectionstest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Script plays one line of a script on a task and returns what it led to, as
// [Summary] writes it; or the error of a fold. An unknown command panics.
//
// Lines are a command and its words; name=value words set options:
//
//	propose [quorum=N] [repairs=N] [stalls=N]   accept   open   cancel
//	claim ACTOR work|recover|release            release [TO]   interrupt
//	hand [SUMMARY]     verify [CHECK=CLASS]…    approve|reject ACTOR
//	request            accept-repair            deliver   recover DECISION
//	escalate           resolve ACTION [allowance=N] [policy=LABEL]
//	intend KEY [PART]… dispatch KEY             outcome STATUS KEY [PART] [try=N] [by=ACTOR] [fence=N]
//	finding SEVERITY   acknowledge              withdraw KEY
//	pause              unpause                  plan         issue|complete STEP
//	decide|freeze|unfreeze DECISION             ban APPROACH
//	cost               violate                  quarantine LABEL
//	again              gap                      fork         junk
func (k *Task) Script(text string) string {
	words := strings.Fields(text)
	options := map[string]string{}
	words = slices.DeleteFunc(words, func(w string) bool {
		name, value, ok := strings.Cut(w, "=")
		if ok {
			options[name] = value
		}
		return ok
	})
	err := k.play(words, options)
	if err != nil {
		return "error: " + err.Error() + "; " + Summary(k.State())
	}
	return Summary(k.State())
}

func (k *Task) play(words []string, options map[string]string) error {
	word := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	number := func(name string, otherwise int64) int64 {
		n, err := strconv.ParseInt(options[name], 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	switch word(0) {
	case "propose":
		k.Propose(func(c *events.Contract) {
			c.Quorum, c.MaxRepairs, c.MaxStalls = number("quorum", 1), number("repairs", 5), number("stalls", 3)
		})
	case "accept":
		k.Accept()
	case "open":
		k.Open()
	case "claim":
		k.Claim(word(1), events.Purpose(word(2)))
	case "hand":
		k.Hand(func(r *events.Result) { r.Summary = strings.Join(words[1:], " ") })
	case "verify":
		outcomes := Outcomes{}
		for check, class := range options {
			outcomes[check] = events.Class(class)
		}
		k.Verify(outcomes)
	case "approve":
		k.Approve(word(1))
	case "reject":
		k.Reject(word(1), "A1", "wrong")
	case "deliver":
		k.Deliver()
	case "recover":
		k.Recover(word(1))
	case "resolve":
		k.Resolve(word(1), func(r *events.Resolution) {
			r.Allowance = number("allowance", 0)
			if label := options["policy"]; label != "" {
				r.Policy = Digest(label)
			}
		})
	default:
		return k.playRest(word, number, options)
	}
	return nil
}

// playRest is the second half of play.
func (k *Task) playRest(word func(int) string, number func(string, int64) int64, options map[string]string) error {
	t := k.State()
	holder := func() string {
		if t.Lease == nil {
			return "impl-a"
		}
		return t.Lease.Actor
	}
	switch word(0) {
	case "release":
		k.Do(holder(), &events.Release{Reason: "context", To: word(1)})
	case "interrupt":
		k.Interrupt()
	case "cancel":
		k.Do(Founder, &events.Cancellation{Reason: "no longer wanted"})
	case "request":
		k.Do("ci", &events.RepairRequest{Items: []string{"A1", "A2"}, Reason: "mend both"})
	case "accept-repair":
		k.AcceptRepair()
	case "escalate":
		k.Do("carl", &events.Escalation{Reason: "unsure", NextStep: "look"})
	case "intend":
		var parts []string
		for i := 2; word(i) != ""; i++ {
			parts = append(parts, word(i))
		}
		k.Intend(word(1), parts...)
	case "dispatch":
		k.Dispatch(word(1))
	case "withdraw":
		k.Do(Founder, &events.EffectWithdrawal{Key: word(1), Reason: "not needed"})
	case "outcome":
		actor := "carl"
		if options["by"] != "" {
			actor = options["by"]
		}
		try := number("try", int64(len(t.Effect(word(2)).Tries)))
		p := Outcome(word(2), word(3), try, projections.Status(word(1)))
		if options["fence"] != "" {
			k.DoFenced(actor, uint64(number("fence", 0)), p)
			return nil
		}
		k.Do(actor, p)
	case "finding":
		k.Do("audrey", &events.Finding{Severity: word(1), Rule: "claim-without-proof", Text: "the claim does not match"})
	case "acknowledge":
		k.Do("rita", &events.Acknowledgement{Finding: t.Findings[len(t.Findings)-1].EventID, Reason: "seen"})
	default:
		if !k.playWork(word) {
			return k.damage(word(0))
		}
	}
	return nil
}

// damage adds a record that the fold must name: again, gap, fork or junk.
func (k *Task) damage(how string) error {
	last := k.Story.Records[len(k.Story.Records)-1]
	next := k.Draft("audrey", &events.Finding{Severity: "hint", Rule: "any", Text: "any"})
	switch how {
	case "again":
		return k.Story.Ledger.Apply(last)
	case "gap":
		next.Event.Sequence++
	case "fork":
		next.Event.Sequence--
	case "junk":
		next.Event.Data = []byte(`{"severity":"fatal","severity":"hint"}`)
	case "chain":
		next.Event.PrevHash = events.Sum([]byte("another"))
	case "next":
	default:
		panic("projectionstest: unknown command " + strconv.Quote(how))
	}
	return k.Story.Add(next)
}

// Summary writes what a task's state says on one line: the state, who it waits
// for, and whatever is not as at the start.
func Summary(t *projections.Task) string {
	parts := []string{t.State.String()}
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	if t.Blocked != nil {
		add(true, "BLOCKED at %d", t.Blocked.Position)
	}
	w := t.Waiting()
	add(len(w.Roles) > 0, "waits %s for %v", w.For, w.Roles)
	if t.Lease != nil {
		add(true, "lease %s %s fence %d", t.Lease.Actor, t.Lease.Purpose, t.Lease.Fence)
	}
	add(t.Reserved != nil, "reserved")
	if t.Pause != nil {
		add(true, "PAUSED")
	}
	add(t.Violated() != nil, "VIOLATED")
	add(t.Before != projections.None, "before %s", t.Before)
	add(t.Stale(), "STALE")
	if t.Result != nil {
		var items []string
		for _, i := range t.Items() {
			items = append(items, i.ID+"="+string(i.Status))
		}
		add(true, "%s", strings.Join(items, " "))
	}
	if t.Repair != nil {
		add(true, "repair %s %v accepted %t", t.Repair.Kind, t.Repair.Items, t.Repair.Accepted)
	}
	add(t.Repairs+t.Stalls+t.Allowance > 0, "repairs %d stalls %d allowance %d", t.Repairs, t.Stalls, t.Allowance)
	add(len(t.Approvers()) > 0, "approved by %v", t.Approvers())
	for i := range t.Effects {
		e := &t.Effects[i]
		late := slices.ContainsFunc(e.Parts, func(p projections.Part) bool { return p.Late })
		add(true, "effect %s %s open %t late %t", e.Intent.Key, e.Status(), e.Open(), late)
	}
	for _, f := range t.Findings {
		add(f.Open, "finding %s %s", f.Data.Severity, f.Data.Rule)
	}
	if t.Escalation != nil {
		add(true, "escalated: %s", t.Escalation.Reason)
	}
	add(t.Cancelling, "cancelling")
	return strings.Join(parts, "; ")
}
