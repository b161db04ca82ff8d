package projections_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestOnlyProvenPassAdvances goes through every outcome that code can emit
// and some that none can.
func TestOnlyProvenPassAdvances(t *testing.T) {
	for outcome, want := range map[events.Outcome]projections.ItemStatus{
		events.OutcomePass: projections.ItemPass, events.OutcomeFail: projections.ItemFail,
		events.OutcomeInconclusive: projections.ItemInconclusive,
		"stale":                    projections.ItemInconclusive, "missing": projections.ItemInconclusive,
		"unknown": projections.ItemInconclusive, "human_needed": projections.ItemInconclusive,
		"ok": projections.ItemInconclusive, "passed": projections.ItemInconclusive, "PASS": projections.ItemInconclusive, "": projections.ItemInconclusive,
	} {
		_, task := begin()
		task.ToResult()
		task.Verify(nil)
		k := task.State()
		k.Receipts[0].Data.Checks[0].Outcome = outcome
		if got := k.Items()[0].Status; got != want || (k.Verdict() == projections.ItemPass) != (outcome == events.OutcomePass) {
			t.Errorf("outcome %q: item %s, verdict %s", outcome, got, k.Verdict())
		}
	}
}

// TestStaleReceiptNeverPasses changes one thing after another that a
// receipt is bound to.
func TestStaleReceiptNeverPasses(t *testing.T) {
	for name, change := range map[string]func(*projections.Task){
		"result":   func(k *projections.Task) { k.Result.Hash = projectionstest.Digest("other") },
		"tree":     func(k *projections.Task) { k.Result.Data.Tree = projectionstest.Object("other") },
		"policy":   func(k *projections.Task) { k.Attempts[0].Snapshot.Inputs.Policy = projectionstest.Digest("other") },
		"contract": func(k *projections.Task) { k.Contracts[0].Digest = projectionstest.Digest("other") },
		"checks":   func(k *projections.Task) { k.Contracts[0].Checks = projectionstest.Digest("other") },
		"image":    func(k *projections.Task) { k.Attempts[0].Snapshot.Inputs.RuntimeImage = "other" },
	} {
		_, task := begin()
		task.ToResult()
		task.Verify(nil)
		k := task.State()
		if k.Verdict() != projections.ItemPass {
			t.Fatal("the receipt proves nothing to begin with")
		}
		change(k)
		for _, item := range k.Items() {
			if item.Status != projections.ItemStale {
				t.Errorf("%s changed: %s is %s", name, item.ID, item.Status)
			}
		}
		if k.Verdict() != projections.ItemInconclusive || len(resume(task, events.RoleController).Done.Items) > 0 {
			t.Errorf("%s changed: verdict %s", name, k.Verdict())
		}
	}
}

// TestStaleReceiptMovesNothing folds a receipt on an older result, passing
// and failing, into each state around the gate.
func TestStaleReceiptMovesNothing(t *testing.T) {
	for _, class := range []events.Class{events.ClassPass, events.ClassCodeFailure} {
		_, task := begin()
		task.ToResult()
		old := projectionstest.Receipt(task.State(), "nonce-of-16-bytes-old", projectionstest.Outcomes{"C1": class})
		task.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure})
		task.AcceptRepair()
		task.Claim("impl-a", events.PurposeWork)
		task.Hand()
		for _, next := range []func(){func() {}, func() { task.Verify(nil) }, func() { task.Approve("rita") }} {
			next()
			before := task.State().State
			task.Do("ci", old)
			if got := task.State().State; got != before {
				t.Errorf("a stale receipt (%s) led from %s to %s", class, before, got)
			}
		}
	}
}

// TestTimeOrdersNothing tells one story under different clocks.
func TestTimeOrdersNothing(t *testing.T) {
	play := func(clock func(i int) string) string {
		story, task := begin()
		lines := []string{"propose quorum=2", "accept", "open", "claim impl-a work", "hand", "verify", "approve rita", "reject rob"}
		for i, line := range lines {
			story.Time = clock(i)
			task.Script(line)
		}
		return projectionstest.Summary(task.State())
	}
	want := play(func(int) string { return "2026-11-30T12:00:00Z" })
	for name, clock := range map[string]func(int) string{
		"1970":           func(int) string { return "1970-01-01T00:00:00Z" },
		"no time":        func(int) string { return "" },
		"future":         func(int) string { return "9999-12-31T23:59:59Z" },
		"backwards":      func(i int) string { return fmt.Sprintf("2026-11-30T12:%02d:00Z", 59-i) },
		"approval ahead": func(i int) string { return fmt.Sprintf("2026-11-30T12:%02d:00Z", []int{0, 1, 2, 3, 4, 5, 55, 7}[i]) },
	} {
		if got := play(clock); got != want {
			t.Errorf("%s:\n have %s\n want %s", name, got, want)
		}
	}
}

// TestDeadlinesUseAdmission holds that no claimed time is in a deadline.
func TestDeadlinesUseAdmission(t *testing.T) {
	story, task := begin()
	story.Time = "2999-01-01T00:00:00Z"
	task.ToResult()
	task.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure})
	task.AcceptRepair()
	r := task.Claim("impl-b", events.PurposeWork)
	if w := task.State().Waiting(); w.Since != r.Admitted || w.Deadline != r.Admitted+60*projectionstest.Step || w.Owner != "impl-b" {
		t.Errorf("%+v, admitted %d", w, r.Admitted)
	}
}

// TestBlockedSource damages one record of one task at every place of a
// story: live and rebuilt states agree, the other task goes on, and nothing
// after the damage is folded.
func TestBlockedSource(t *testing.T) {
	story, task := begin()
	other := story.Task("TASK-2")
	for _, line := range []string{"propose", "accept", "open", "claim impl-a work", "hand", "verify", "approve rita", "deliver"} {
		task.Script(line)
		other.Script(line)
	}
	healthy := story.Ledger.Tasks["TASK-2"]
	want, err := healthy.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range story.Records {
		if r.Event.Source.Task != "TASK-1" {
			continue
		}
		for name, damage := range map[string]func(*events.Record){
			"json":    func(r *events.Record) { r.Event.Data = []byte(`{`) },
			"type":    func(r *events.Record) { r.Event.Type = "dev.deed.future.happened.v9" },
			"removed": func(r *events.Record) { r.Event.Sequence++ },
			"forked":  func(r *events.Record) { r.Event.Sequence-- },
			"chain":   func(r *events.Record) { r.Event.PrevHash = events.Sum(nil) },
		} {
			records := slices.Clone(story.Records)
			damage(&records[i])
			live, rebuilt := projections.NewLedger("acme"), projections.NewLedger("acme")
			for _, l := range []*projections.Ledger{live, rebuilt} {
				for _, record := range records {
					err := l.Apply(record)
					if bad := record.Event.Source.Task == "TASK-1" && record.Position >= r.Position; bad != (err != nil) {
						t.Fatalf("%s at %d: position %d: %v", name, r.Position, record.Position, err)
					}
				}
			}
			if digests(t, live) != digests(t, rebuilt) {
				t.Errorf("%s at %d: live and rebuilt differ", name, r.Position)
			}
			if b := live.Tasks["TASK-1"].Blocked; b == nil || b.Position != r.Position {
				t.Errorf("%s at %d: blocked %+v", name, r.Position, b)
			}
			if p := projections.ResumePacket(live.Tasks["TASK-1"], nil, projections.Reader{}); p.BlockedAt != r.Position || slices.Contains(p.Next.Roles, events.RoleImplementer) {
				t.Errorf("%s at %d: packet goes on: %+v", name, r.Position, p.Next)
			}
			if got, err := live.Tasks["TASK-2"].Digest(); err != nil || got != want {
				t.Errorf("%s at %d: the other task differs", name, r.Position)
			}
		}
	}
}

func TestFaultsHaveNames(t *testing.T) {
	for how, want := range map[string]error{
		"gap": projections.ErrGap, "fork": projections.ErrForked, "chain": projections.ErrChain, "junk": events.ErrAmbiguous,
	} {
		story, task := begin()
		task.Propose()
		next := task.Draft("audrey", &events.Finding{Severity: "hint", Rule: "a", Text: "b"})
		switch how {
		case "gap":
			next.Event.Sequence = 5
		case "fork":
			next.Event.Sequence = 1
		case "chain":
			next.Event.PrevHash = events.Hash{}
		case "junk":
			next.Event.Data = []byte(`{"rule":"a","rule":"b","severity":"hint","text":"b"}`)
		}
		if err := story.Add(next); !errors.Is(err, want) {
			t.Errorf("%s: %v", how, err)
		}
		if err := story.Add(task.Draft(projectionstest.Founder, &events.Withdrawal{Reason: "x"})); !errors.Is(err, projections.ErrBlocked) {
			t.Errorf("%s: then %v", how, err)
		}
	}
	story, task := begin()
	task.Propose()
	skip := task.Draft("audrey", &events.Finding{Severity: "hint", Rule: "a", Text: "b"})
	skip.Position++
	before := digests(t, story.Ledger)
	if err := story.Ledger.Apply(skip); !errors.Is(err, projections.ErrGap) || digests(t, story.Ledger) != before {
		t.Errorf("a position was skipped: %v", err)
	}
}

// TestUnreadableMessage blocks a source at a message that is no record.
func TestUnreadableMessage(t *testing.T) {
	story, task := begin()
	task.Propose()
	l := story.Ledger
	source := events.Source{Ledger: "acme", Task: "TASK-1"}
	if err := l.Block(source, projections.Block{Position: l.Position + 2, Reason: "x"}); !errors.Is(err, projections.ErrGap) {
		t.Errorf("ahead: %v", err)
	}
	if err := l.Block(source, projections.Block{Position: l.Position, Reason: "x"}); !errors.Is(err, projections.ErrDuplicate) {
		t.Errorf("behind: %v", err)
	}
	if err := l.Block(source, projections.Block{Position: l.Position + 1, Reason: "bad signature"}); err != nil {
		t.Error(err)
	}
	if err := story.Add(task.Draft(projectionstest.Founder, &events.Withdrawal{Reason: "x"})); !errors.Is(err, projections.ErrBlocked) {
		t.Errorf("blocked task took an event: %v", err)
	}
	other := story.Task("TASK-2")
	other.ToResult()
	if other.State().State != projections.AwaitingVerification {
		t.Errorf("the other task is %s", other.State().State)
	}
}

// TestReferencesToNothing holds that the fold stops at what rests on nothing.
func TestReferencesToNothing(t *testing.T) {
	digest := projectionstest.Digest("x")
	for name, p := range map[string]events.Payload{
		"version":       &events.Acceptance{Version: 9, Digest: digest},
		"digest":        &events.Acceptance{Version: 1, Digest: digest},
		"claim":         &events.Claim{Purpose: events.PurposeWork, TermSeconds: 60, World: projectionstest.World(digest)},
		"result":        projectionstest.Result("1"),
		"repair":        &events.RepairAcceptance{Kind: "code"},
		"request":       &events.RepairRequest{Items: []string{"A1"}, Reason: "x"},
		"recovery":      &events.Recovery{Decision: projections.Reverify, Matches: []string{projections.Reverify}, World: projectionstest.World(digest)},
		"delivery":      &events.Delivery{Contract: digest, Result: digest, Target: "main", Commit: projectionstest.Object("x"), Tree: projectionstest.Object("x")},
		"finding":       &events.Acknowledgement{Finding: "01890a5d-ac96-774b-bcce-00000000ffff", Reason: "x"},
		"dispatch":      &events.Dispatch{Key: "k", Try: 1, Token: "t", Host: "h", Boot: "b"},
		"confirmation":  projectionstest.Outcome("k", "", 1, projections.StatusConfirmed),
		"failure":       projectionstest.Outcome("k", "", 1, projections.StatusFailed),
		"unknown":       projectionstest.Outcome("k", "", 1, projections.StatusUnknown),
		"compensation":  projectionstest.Outcome("k", "", 1, projections.StatusCompensated),
		"withdrawal":    &events.EffectWithdrawal{Key: "k", Reason: "x"},
		"approval of k": &events.EffectApproval{Key: "k", PayloadDigest: digest},
	} {
		story, task := begin()
		task.Propose()
		if err := story.Add(task.Draft("carl", p)); !errors.Is(err, projections.ErrReference) || task.State().Blocked == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, task := begin()
	task.Propose()
	task.Accept()
	task.Open()
	task.Claim("impl-a", events.PurposeWork)
	task.Intend("k", "left", "right")
	task.Dispatch("k")
	for _, part := range []string{"", "middle"} {
		k := *task.State()
		if err := k.Apply(task.Draft("carl", projectionstest.Outcome("k", part, 1, projections.StatusFailed))); !errors.Is(err, projections.ErrReference) {
			t.Errorf("part %q: %v", part, err)
		}
	}
}
