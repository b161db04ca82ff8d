package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/workspace/guard"
)

// TestTaskGuards: of a ledger's decisions and bans only those guard that stand.
func TestTaskGuards(t *testing.T) {
	const noon = "2026-01-02T12:00:00Z"
	at := func(clock string) int64 {
		when, err := time.Parse(time.RFC3339, "2026-01-02T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return when.UnixNano()
	}
	freeze := func(expires string) *projections.Freeze {
		return &projections.Freeze{Data: events.Freeze{Guard: events.Guard{Forbids: []string{"x"}, Contains: []string{"y"}}, Expires: expires}}
	}
	decision := func(f *projections.Freeze, change func(*projections.Decision)) func(*projections.Task) {
		return func(task *projections.Task) {
			d := projections.Decision{Data: events.Decision{Decision: "D1", Title: "t"}, Frozen: f}
			change(&d)
			task.Choices = append(task.Choices, d)
		}
	}
	same := func(*projections.Decision) {}
	ban := func(expires, lifted string) func(*projections.Task) {
		return func(task *projections.Task) {
			task.Bans = append(task.Bans, projections.Ban{Data: events.Ban{Approach: "B1", Title: "t", Guard: events.Guard{Forbids: []string{"x"}}, Expires: expires}, Lifted: lifted})
		}
	}
	for name, c := range map[string]struct {
		change func(*projections.Task)
		clock  string
		holds  bool
	}{
		"frozen":                        {decision(freeze(""), same), "12:00:01", true},
		"frozen until later":            {decision(freeze(noon), same), "11:59:59", true},
		"banned":                        {ban("", ""), "12:00:01", true},
		"banned until later":            {ban(noon, ""), "11:59:59", true},
		"never frozen":                  {decision(nil, same), "11:00:00", false},
		"its freeze has expired":        {decision(freeze(noon), same), "12:00:01", false},
		"the decision has expired":      {decision(freeze(""), func(d *projections.Decision) { d.Data.Expires = noon }), "12:00:01", false},
		"withdrawn":                     {decision(freeze(""), func(d *projections.Decision) { d.Withdrawn = "e" }), "11:00:00", false},
		"superseded":                    {decision(freeze(""), func(d *projections.Decision) { d.Superseded = "D2" }), "11:00:00", false},
		"a ban that was lifted":         {ban("", "e"), "11:00:00", false},
		"a ban that has expired":        {ban(noon, ""), "12:00:01", false},
		"nothing was decided or banned": {func(*projections.Task) {}, "11:00:00", false},
	} {
		var task projections.Task
		c.change(&task)
		claims := guard.TaskClaims(&task, at(c.clock))
		found := guard.Check(claims, guard.World{Hits: []guard.Hit{{Keyword: "x", Path: "a.go", Line: 1}}})
		if got := guard.Count(found, 'R') == 1; got != c.holds {
			t.Errorf("%s: guards %t, want %t (%v)", name, got, c.holds, found)
		}
	}
}

// TestTaskClaims: with a result, and not before, decisions have to have landed
// and claims are held against the disk.
func TestTaskClaims(t *testing.T) {
	task := projections.Task{ID: "T-1"}
	task.Choices = []projections.Decision{{Data: events.Decision{Decision: "D1", Title: "json"}, Frozen: &projections.Freeze{
		Data: events.Freeze{Guard: events.Guard{Contains: []string{"json.dumps"}, Paths: []string{"src/**"}}},
	}}}
	elsewhere := guard.World{Hits: []guard.Hit{{Keyword: "json.dumps", Path: "docs/a.md", Line: 1}}}
	if found := guard.Check(guard.TaskClaims(&task, 0), elsewhere); guard.Count(found, 'R') != 0 {
		t.Errorf("before a result: %v", found)
	}
	task.Result = &projections.Result{Data: events.Result{Claims: []events.Stated{
		{Acceptance: "A1", Text: "two files", Evidence: []string{"path:a.go", "see the log", "path:%zz", "path:b.go", "remote:origin/work"}},
		{Acceptance: "A2", Text: "a sentence"},
	}}}
	var got []string
	for _, f := range guard.Check(guard.TaskClaims(&task, 0), elsewhere) {
		if f.Code.Level() != 'N' {
			got = append(got, strings.TrimSpace(string(f.Code)+" "+f.Path))
		}
	}
	if want := "R1 a.go, R1 b.go, R4, W1"; strings.Join(got, ", ") != want {
		t.Errorf("found %q, want %s", got, want)
	}
}

// TestTaskHandover: the hand-over of a ledger's task has the published schema,
// and says what is done, left and demanded.
func TestTaskHandover(t *testing.T) {
	steps := []projections.Step{
		{Data: events.StepIssue{Title: "read"}, Status: projections.StepDone, Text: "all", Evidence: []events.Evidence{{Commit: "c1", Path: "a%20b"}}},
		{Data: events.StepIssue{Title: "ask"}, Status: projections.StepFailed, Text: "nobody answers"},
		{Data: events.StepIssue{Title: "write", Success: "it is there"}, Status: projections.StepOpen},
	}
	task := projections.Task{ID: "T-1"}
	task.Attempts = []projections.Attempt{{ID: "a1"}}
	for _, s := range steps {
		s.Attempt = "a1"
		task.Steps = append(task.Steps, s)
	}
	task.Choices = []projections.Decision{{Data: events.Decision{Title: "json"}, Frozen: &projections.Freeze{Data: events.Freeze{Guard: events.Guard{Contains: []string{"dumps"}, Paths: []string{"src/**"}}}}}}
	claims := guard.HandoverClaims(&task, 0)
	if len(claims.Done) != 1 || claims.Done[0].Evidence != "a%20b in commit c1" || len(claims.Todo) != 2 || claims.Todo[1].Next != "done when it is there" || len(claims.Frozen[0].Contains) != 1 {
		t.Errorf("claims %+v", claims)
	}
	pack := guard.PackOf(guard.SnapshotOf(guard.Measurement{}, "2026-01-02T03:04:05Z"), claims, guard.Check(claims, guard.World{}), guard.Skipped{})
	pack.Ledger = &guard.Ledger{Task: "T-1", State: "Snapshotted", Position: 7, Packet: strings.Repeat("a", 64), Items: []guard.LedgerItem{{ID: "A1", Status: "open"}}}
	dir := t.TempDir()
	if err := guard.WritePack(dir, pack); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".resume/handoff.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.ValidateFile("guard.handoff", text); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`"state": "Snapshotted",`, `"position": 7,`, `"packet": "` + strings.Repeat("a", 64) + `",`} {
		if without := strings.Replace(string(text), bad, "", 1); without == string(text) || schemas.ValidateFile("guard.handoff", []byte(without)) == nil {
			t.Errorf("the schema takes a hand-over without %s", bad)
		}
	}
}
