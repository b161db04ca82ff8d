package projections_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// rebuild folds records from nothing.
func rebuild(t *rapid.T, records []events.Record) *projections.Ledger {
	l := projections.NewLedger("acme")
	for _, r := range records {
		if err := l.Apply(r); err != nil && l.Position != r.Position {
			t.Fatal(err)
		}
	}
	return l
}

func digests(t interface{ Fatal(args ...any) }, l *projections.Ledger) string {
	d, err := l.Digests()
	if err != nil {
		t.Fatal(err)
	}
	text, err := events.Canonical(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asides returns script lines that can happen in many states.
func asides(t *projections.Task) []string {
	always := []string{"finding hint", "finding fatal"}
	if len(t.Findings) > 0 {
		always = append(always, "acknowledge")
	}
	if t.Contract() != nil {
		always = append(always, "propose", "accept")
	}
	if t.Result != nil && !t.Stale() {
		always = append(always, "verify", "verify", "verify C1=code_failure", "verify C2=inconclusive")
	}
	always = append(always, "pause", "cost", "ban b1")
	if t.Pause != nil {
		always = append(always, "unpause", "unpause", "unpause")
	}
	if t.Choice("d1") == nil {
		always = append(always, "decide d1")
	} else {
		always = append(always, "freeze d1", "unfreeze d1")
	}
	if t.State == projections.Executing {
		always = append(always, "plan", "issue s1")
	}
	if t.Step("s1") != nil {
		always = append(always, "complete s1", "quarantine log")
	}
	if t.Result != nil && t.State == projections.AwaitingVerification {
		always = append(always, "violate")
	}
	for i := range t.Effects {
		if e := &t.Effects[i]; len(e.Tries) > 0 {
			for _, s := range []string{"confirmed", "failed", "unknown", "conflict"} {
				always = append(always, "outcome "+s+" "+e.Intent.Key+" "+e.Parts[len(e.Parts)-1].Name)
			}
		}
	}
	return always
}

// moves returns script lines that lead on from the state of t.
func moves(t *projections.Task) []string {
	key := fmt.Sprintf("k%d", len(t.Effects))
	work := []string{"intend " + key, "intend " + key + " left right", "interrupt", "release", "release impl-b"}
	for i := range t.Effects {
		work = append(work, "dispatch "+t.Effects[i].Intent.Key)
	}
	return map[projections.State][]string{
		projections.None:                 {"propose", "propose quorum=2 repairs=1"},
		projections.Proposed:             {"accept", "accept"},
		projections.Contracted:           {"open", "open"},
		projections.Snapshotted:          {"claim impl-a work", "claim impl-b work", "claim carl recover"},
		projections.Executing:            slices.Concat(work, []string{"hand done", "hand done", "hand done"}),
		projections.AwaitingVerification: verifications(t),
		projections.AwaitingReview:       {"approve rita", "approve rob", "reject rob", "claim carl recover"},
		projections.Approved:             {"claim olga release", "deliver", "claim carl recover"},
		projections.Releasing:            slices.Concat(work, []string{"deliver", "deliver"}),
		projections.Interrupted:          {"claim carl recover"},
		projections.RecoveryEvaluating:   recoveries(t),
		projections.RepairQueued:         repairs(t),
		projections.Escalated:            resolutions(t),
		projections.Delivered:            {"finding hint"},
		projections.Cancelled:            {"finding hint"},
	}[t.State]
}

func verifications(t *projections.Task) []string {
	if t.Stale() {
		return []string{"claim carl recover"}
	}
	return []string{"verify", "verify", "verify C1=code_failure", "claim carl recover"}
}

func recoveries(t *projections.Task) []string {
	var lines []string
	for _, d := range projections.RecoveryDecisions() {
		if t.Result != nil || d != projections.Reverify && d != projections.RepairFromFailure {
			lines = append(lines, "recover "+d)
		}
	}
	return append(lines, "interrupt")
}

func resolutions(t *projections.Task) []string {
	lines := []string{"resolve cancel"}
	if !t.Cancelling {
		lines = append(lines, "resolve resume", "resolve resume", "resolve resume policy=other")
	}
	if t.Contract() != nil && !t.Cancelling {
		lines = append(lines, "resolve new-attempt")
	}
	if t.Attempt() != nil && !t.Cancelling {
		lines = append(lines, "resolve repair allowance=1")
	}
	if t.Result != nil && !t.Cancelling {
		lines = append(lines, "resolve reverify")
	}
	return lines
}

func repairs(t *projections.Task) []string {
	switch {
	case t.Repair != nil && !t.Repair.Accepted:
		return []string{"accept-repair", "accept-repair"}
	case t.Repair != nil && t.Repair.Kind != "code":
		return []string{"open"}
	}
	return []string{"claim impl-b work"}
}

// walk plays a random story of two tasks, the first one from anywhere on the
// way to a release.
func walk(t *rapid.T) *projectionstest.Story {
	story, first := begin()
	tasks := []*projectionstest.Task{first, first, story.Task("TASK-2")}
	way := []string{"propose", "accept", "open", "claim impl-a work", "hand", "verify", "approve rita", "claim olga release"}
	for _, line := range way[:rapid.IntRange(0, len(way)).Draw(t, "way")] {
		first.Script(line)
	}
	for range rapid.IntRange(5, 40).Draw(t, "events") {
		k := rapid.SampledFrom(tasks).Draw(t, "task")
		state := k.State()
		if state.State.Final() {
			continue
		}
		lines := moves(state)
		if state.Pause != nil { // the rules let nothing else happen
			lines = []string{"unpause", "verify C1=code_failure", "cost"}
			if state.Result == nil || state.Stale() {
				lines = lines[:1]
			}
		}
		switch turn := rapid.IntRange(0, 19).Draw(t, "turn"); {
		case turn == 13 && state.State != projections.None:
			lines = []string{"cancel", "escalate"}
		case turn > 13:
			lines = asides(state)
		}
		line := rapid.SampledFrom(lines).Draw(t, "line")
		story.Time = rapid.SampledFrom([]string{"1970-01-01T00:00:00Z", "2026-11-30T12:00:00Z", "2999-01-01T00:00:00Z"}).Draw(t, "time")
		k.Script(line)
	}
	return story
}

func TestReplayIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := walk(t)
		want := digests(t, story.Ledger)
		if got := digests(t, rebuild(t, story.Records)); got != want {
			t.Fatalf("replay gives\n%s, live was\n%s", got, want)
		}
	})
}

func TestDuplicateChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := walk(t)
		l := projections.NewLedger("acme")
		for i, r := range story.Records {
			_ = l.Apply(r)
			if i < 17 || i%5 != 0 {
				continue
			}
			before := digests(t, l)
			again := story.Records[rapid.IntRange(0, i).Draw(t, "again")]
			if err := l.Apply(again); !errors.Is(err, projections.ErrDuplicate) {
				t.Fatalf("position %d again at %d: %v", again.Position, r.Position, err)
			}
			if task := l.Tasks[again.Event.Source.Task]; task != nil {
				if err := task.Apply(again); !errors.Is(err, projections.ErrDuplicate) {
					t.Fatalf("task: position %d again at %d: %v", again.Position, r.Position, err)
				}
			}
			if digests(t, l) != before {
				t.Fatalf("position %d again changed the state at %d", again.Position, r.Position)
			}
		}
	})
}

// TestSnapshotAndTailIsFullReplay stops a task's fold anywhere, takes its JSON
// for its state, and goes on.
func TestSnapshotAndTailIsFullReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := walk(t)
		want := digests(t, story.Ledger)
		l := projections.NewLedger("acme")
		cut := rapid.IntRange(17, len(story.Records)).Draw(t, "cut")
		for _, r := range story.Records[:cut] {
			_ = l.Apply(r)
		}
		for id, task := range l.Tasks {
			l.Tasks[id] = thaw[projections.Task](t, task)
		}
		l.Registry = *thaw[projections.Registry](t, &l.Registry)
		for _, r := range story.Records[cut:] {
			_ = l.Apply(r)
		}
		if got := digests(t, l); got != want {
			t.Fatalf("snapshot at %d and tail give\n%s, live was\n%s", cut, got, want)
		}
	})
}

// thaw returns the value that the JSON of v decodes to.
func thaw[T any](t *rapid.T, v *T) *T {
	text, err := events.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return out
}

// TestInvariants holds the fold to what its readers rely on, at every step of a
// random story.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		story := walk(t)
		l := projections.NewLedger("acme")
		for _, r := range story.Records {
			_ = l.Apply(r)
			if id := r.Event.Source.Task; id != "" {
				task := l.Tasks[id]
				w := task.Waiting()
				leased := slices.Contains([]projections.State{projections.Executing, projections.Releasing, projections.RecoveryEvaluating}, task.State)
				switch {
				case task.Blocked != nil:
					t.Fatalf("%s at %d: %s", id, r.Position, task.Blocked.Reason)
				case leased != (task.Lease != nil):
					t.Fatalf("%s at %d: %s, lease %v", id, r.Position, task.State, task.Lease)
				case !task.State.Final() && (len(w.Roles) == 0 || w.Deadline <= w.Since):
					t.Fatalf("%s at %d: %s waits for %+v", id, r.Position, task.State, w)
				case task.State == projections.Approved && !task.Quorum() && task.Pause == nil:
					t.Fatalf("%s at %d: Approved without a quorum", id, r.Position)
				case task.State == projections.Escalated && task.Escalation == nil:
					t.Fatalf("%s at %d: Escalated without a reason", id, r.Position)
				case task.State == projections.RepairQueued && task.Repair == nil:
					t.Fatalf("%s at %d: RepairQueued without a repair", id, r.Position)
				case task.State == projections.Interrupted && task.Before == projections.None:
					t.Fatalf("%s at %d: Interrupted from nowhere", id, r.Position)
				}
				if _, _, err := projections.ResumePacket(task, &l.Registry, projections.Reader{Role: events.RoleController}).Encode(0); err != nil {
					t.Fatalf("%s at %d: %v", id, r.Position, err)
				}
			}
		}
	})
}
