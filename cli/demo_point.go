package cli

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// defaultPoint is the kill point of a demo that is asked for none.
const defaultPoint = "inside-after-act"

// The places inside a call of the demo's outside world.
const (
	placeActing = "acting"
	placeActed  = "acted"
)

// placeCheck is the place inside the check of the demo's contract.
const placeCheck = "check"

// killPoint is a moment at which the demo kills a process.
type killPoint struct {
	name string
	// who is killed, what for, and what is expected of those who go on.
	who, when, then string
	place           string
	// open says that the ledger does not know what became of a call: without
	// its probe a person has to decide.
	open bool
	// acted says that the outside world has changed at the kill.
	acted bool
	// second is the actor who takes the place of the killed one, besides impl-b.
	second string
}

// killPoints returns every kill point in the order of a task's life.
func killPoints() []killPoint {
	return []killPoint{
		{name: "before-intent", who: "implementer", when: "before it records what it intends", then: "the next one makes the call", place: placeBefore(events.EffectIntended)},
		{name: "after-intent", who: "implementer", when: "after the intent, before the dispatch", then: "the intent stands; the next one makes the call", place: placeAfter(events.EffectIntended)},
		{name: "inside-before-act", who: "implementer", when: "inside the call, before it acts", then: "lock and probe prove that nothing happened; the next one makes the call",
			place: placeActing, open: true},
		{name: defaultPoint, who: "implementer", when: "inside the call, after it acted", then: "the probe finds it; it is not repeated", place: placeActed, open: true, acted: true},
		{name: "after-reply", who: "implementer", when: "after the reply, before it is recorded", then: "the probe finds it; it is not repeated",
			place: placeBefore(events.EffectConfirmed), open: true, acted: true},
		{name: "after-confirm", who: "implementer", when: "after the outcome is recorded", then: "it is confirmed; it is not repeated", place: placeAfter(events.EffectConfirmed), acted: true},
		{name: "mid-result", who: "implementer", when: "as it hands over, before the ledger has it", then: "the next one hands over the same commit",
			place: placeBefore(events.ResultRecorded), acted: true},
		{name: "mid-result-landed", who: "implementer", when: "as it hands over, its answer lost", then: "the result stands; nobody has to take over",
			place: placeAfter(events.ResultRecorded), acted: true},
		{name: "mid-verify", who: "verifier", when: "while its check runs", then: "nothing is proven; another one runs the check", place: placeCheck, acted: true, second: "verify-2"},
		{name: "mid-recovery", who: "controller", when: "between its claim and its decision", then: "another one recovers; an implementer was killed as by default",
			place: placeBefore(events.RecoveryDecided), open: true, acted: true, second: "control-2"},
		{name: "mid-release", who: "operator", when: "inside a deployment, after it acted", then: "the probe finds it; another one delivers without deploying again",
			place: placeActed, open: true, acted: true, second: "op-2"},
	}
}

// findPoint returns the kill point with a name.
func findPoint(name string) (killPoint, error) {
	points := killPoints()
	i := slices.IndexFunc(points, func(p killPoint) bool { return p.name == name })
	if i < 0 {
		names := make([]string, len(points))
		for n, p := range points {
			names[n] = p.name
		}
		return killPoint{}, choose("--kill-at", name, names)
	}
	return points[i], nil
}

// pointHelp lists the kill points for the help.
func pointHelp() string {
	var b strings.Builder
	for _, p := range killPoints() {
		b.WriteString("  " + p.name + strings.Repeat(" ", 19-len(p.name)) + p.who + ", " + p.when + ":\n" + strings.Repeat(" ", 21) + p.then + "\n")
	}
	return b.String()
}

// acts returns the demo's acts in their order.
func (d *demo) acts() []demoAct {
	acts := []demoAct{d.createProject, d.createLedger, d.agree, d.begin}
	work, proof := []demoAct{d.publish, d.handOver}, []demoAct{d.verify, d.approve}
	switch name := d.point.name; name {
	case defaultPoint:
		acts = append(acts, d.killEffect, d.impatient, d.expire, d.recover)
	case "mid-recovery":
		acts = append(acts, d.killEffect, d.takeAway, d.killRecovery, d.takeAway, d.recover)
	case "mid-result":
		acts = append(acts, d.publish, d.killResult, d.takeAway, d.recover)
	case "mid-result-landed":
		return slices.Concat(acts, []demoAct{d.publish, d.killResult}, proof, []demoAct{d.deliver, d.audit, d.check})
	case "mid-verify":
		return slices.Concat(acts, work, []demoAct{d.killVerify}, proof, []demoAct{d.deliver, d.audit, d.check})
	case "mid-release":
		acts = slices.Concat(acts, work, proof, []demoAct{d.deploy, d.takeAway, d.recover})
		if d.escalates() {
			return append(acts, d.stop, d.audit, d.check)
		}
		return append(acts, d.deployAgain, d.deliver, d.audit, d.check)
	default:
		acts = append(acts, d.killEffect, d.takeAway, d.recover)
	}
	if d.escalates() {
		return append(acts, d.stop, d.audit, d.check)
	}
	return slices.Concat(acts, []demoAct{d.takeOver}, proof, []demoAct{d.deliver, d.audit, d.check})
}

// escalates reports whether the play ends with a person who has to look.
func (d *demo) escalates() bool { return d.noProbe && d.point.open }
