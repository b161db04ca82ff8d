package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/workspace"
	"go.yaml.in/yaml/v4"
)

// story is a task with everything that is printed: versions, attempts, a plan, results, receipts of each class, an interruption, a
// rejection, approvals and a delivery.
func story(t *testing.T) []events.Record {
	t.Helper()
	s := projectionstest.New("acme")
	s.Genesis()
	k := s.Task("TASK-1")
	k.Propose()
	k.Accept()
	k.Open()
	k.Do("impl-a", projectionstest.Plan())
	k.Claim("impl-a", events.PurposeWork)
	k.Interrupt()
	k.Claim("carl", events.PurposeRecover)
	k.Recover("resume_bounded_step")
	k.Claim("impl-a", events.PurposeWork)
	k.Hand()
	k.Verify(projectionstest.Outcomes{"C1": events.ClassInconclusive})
	k.Verify(nil)
	k.Reject("rita", "A1", "no")
	k.AcceptRepair()
	k.Claim("impl-a", events.PurposeWork)
	k.Hand(func(r *events.Result) { r.Head = projectionstest.Object("again") })
	k.Verify(nil)
	k.Approve("rita")
	other := s.Task("TASK-2")
	other.Propose()
	k.Claim("olga", events.PurposeRelease)
	k.Deliver()
	return s.Records
}

// twoAttempts is a task whose contract changed under its first attempt, which was escalated, and that was cancelled in the end.
func twoAttempts(t *testing.T) []events.Record {
	t.Helper()
	s := projectionstest.New("acme")
	s.Genesis()
	k := s.Task("TASK-1")
	k.ToResult()
	k.Verify(nil)
	k.Approve("rita")
	k.Propose()
	k.Accept()
	k.Claim("carl", events.PurposeRecover)
	k.Recover("escalate_contract_changed")
	k.Resolve("new-attempt")
	k.Open()
	k.Claim("impl-a", events.PurposeWork)
	k.Do("impl-a", projectionstest.Plan())
	k.Hand()
	k.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure})
	k.Do("ann", &events.Cancellation{Reason: "no"})
	return s.Records
}

// kind returns the schema of a file.
func kind(name string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(name, Dir+"/"), "/")
	return map[string]string{
		contractsDir: "contract", attemptsDir: "attempt", snapshotsDir: "snapshot", plansDir: "plan", resultsDir: "result", receiptsDir: "receipt", recoveryDir: "recovery", approvalsDir: "approvals",
	}[folder]
}

// TestRender prints a story at each of its positions: always the same bytes, each of its schema; and a folder of an older print is
// behind, never changed.
func TestRender(t *testing.T) {
	t.Run("delivered", func(t *testing.T) { printsEach(t, story(t), 8, 1) })
	t.Run("two attempts", func(t *testing.T) { printsEach(t, twoAttempts(t), 8, 2) })
}

func printsEach(t *testing.T, records []events.Record, kinds, attempts int) {
	t.Helper()
	render := func(at events.Position) ([]File, error) {
		n := slices.IndexFunc(records, func(r events.Record) bool { return r.Position > at })
		if n < 0 {
			n = len(records)
		}
		files, err := Render("acme", "TASK-1", records[:n])
		if errors.Is(err, ErrNoTask) {
			err = nil
		}
		return files, err
	}
	last := records[len(records)-1].Position
	now, err := render(last)
	must(t, err)
	seen := map[string]int{}
	for _, f := range now {
		seen[kind(f.Path)]++
	}
	if len(seen) != kinds || seen["attempt"] != attempts || seen["snapshot"] != attempts {
		t.Errorf("files of kinds %v", seen)
	}
	for at := events.Position(1); at <= last; at++ {
		files, err := render(at)
		must(t, err)
		again, err := render(at)
		must(t, err)
		dir := t.TempDir()
		box, err := workspace.OpenBox(dir)
		must(t, err)
		for i, f := range files {
			if f.Path != again[i].Path || !bytes.Equal(f.Text, again[i].Text) {
				t.Errorf("position %d: %s is printed in two ways", at, f.Path)
			}
			if f.Position > at {
				t.Errorf("position %d: %s is of position %d", at, f.Path, f.Position)
			}
			if text := asJSON(t, f); schemas.ValidateFile("delivery."+kind(f.Path), text) != nil {
				t.Errorf("position %d: %s: %v\n%s", at, f.Path, schemas.ValidateFile("delivery."+kind(f.Path), text), text)
			}
			must(t, box.Write(f.Path, f.Text, 0o644))
		}
		entries, err := Compare(box, "TASK-1", now, render)
		must(t, err)
		for _, e := range entries {
			if e.Standing != Same && e.Standing != Behind && e.Standing != Missing {
				t.Errorf("print of position %d: %s is %s", at, e.Path, e.Standing)
			}
		}
		must(t, box.Close())
	}
	if _, err := Render("acme", "TASK-3", records); !errors.Is(err, ErrNoTask) {
		t.Errorf("no task: %v", err)
	}
	if _, err := Render("acme", "TASK-1", records[1:]); err == nil {
		t.Error("a ledger without its first event is printed")
	}
}

func asJSON(t *testing.T, f File) []byte {
	t.Helper()
	if path.Ext(f.Path) == ".json" {
		return f.Text
	}
	var v any
	must(t, yaml.Load(f.Text, &v))
	text, err := json.Marshal(v)
	must(t, err)
	return text
}
