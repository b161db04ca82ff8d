package cli_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"
)

// killRounds is how often TestDemoKilledAtEachPoint plays each kill point.
var killRounds = flag.Int("kill-rounds", 1, "how often each kill point of the demo is played")

// killPlay is a kill point of the demo, how many processes are killed, what is
// in the outside world in the end, and how often somebody took over.
type killPlay struct {
	point              string
	killed, effects    int
	takeovers          int
	escalated, unacted bool // with --no-probe
}

func killPlays() []killPlay {
	return []killPlay{
		{"before-intent", 1, 1, 1, false, false},
		{"after-intent", 1, 1, 1, false, false},
		{"inside-before-act", 1, 1, 1, true, true},
		{"inside-after-act", 1, 1, 1, true, false},
		{"after-reply", 1, 1, 1, true, false},
		{"after-confirm", 1, 1, 1, false, false},
		{"mid-result", 1, 1, 1, false, false},
		{"mid-result-landed", 1, 1, 0, false, false},
		{"mid-verify", 1, 1, 0, false, false},
		{"mid-recovery", 2, 1, 1, true, false},
		{"mid-release", 1, 2, 0, true, false},
	}
}

// killOutput is what the test looks at.
type killOutput struct {
	Delivered bool   `json:"delivered"`
	State     string `json:"state"`
	KillAt    string `json:"kill_at"`
	Killed    int    `json:"killed"`
	Effects   int    `json:"effects_executed"`
	Takeovers int    `json:"takeovers"`
	Audit     string `json:"audit"`
}

// TestDemoKilledAtEachPoint plays every kill point of the demo: the outside
// world changes exactly once, or a person has to look; never twice. The demo
// itself demands that the history verifies, that it replays to the same state,
// and that there is always somebody who may go on.
//
// At most two run at once. With -kill-rounds above 1 each is also played
// without its probe, and every play is logged.
func TestDemoKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, 2)
	for _, play := range killPlays() {
		for _, noProbe := range []bool{false, true} {
			if noProbe && *killRounds == 1 {
				continue // TestDemo has one of these
			}
			for round := range *killRounds {
				t.Run(fmt.Sprintf("%s no-probe=%t %d", play.point, noProbe, round), func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					want := killOutput{Delivered: true, State: "Delivered", KillAt: play.point, Killed: play.killed, Effects: play.effects, Takeovers: play.takeovers, Audit: "ok"}
					args := []string{"--kill-at", play.point, "-o", "json"}
					if noProbe {
						args = append(args, "--no-probe")
						if play.escalated {
							want.Delivered, want.State, want.Takeovers = false, "Escalated", 0
						}
						if play.unacted {
							want.Effects = 0
						}
					}
					if got := playKill(t, args); got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
				})
			}
		}
	}
}

// playKill plays the demo and returns what it says of itself.
func playKill(t *testing.T, args []string) killOutput {
	t.Helper()
	temp := t.TempDir()
	cmd, stdout, stderr := startDemo(t, temp, args...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("demo %v: %v\n%s%s", args, err, stdout, stderr)
	}
	var object struct {
		Data killOutput `json:"data"`
	}
	must(t, json.Unmarshal([]byte(stdout.String()), &object))
	if left := folders(t, temp); len(left) != 0 || stderr.String() != "" {
		t.Errorf("left %v; stderr %q", left, stderr)
	}
	t.Logf("%s: %s, %d effects", object.Data.KillAt, object.Data.State, object.Data.Effects)
	return object.Data
}

// TestDemoKillAtRefuses takes no other point.
func TestDemoKillAtRefuses(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"", "inside", "MID-VERIFY", "before-intent,after-intent"} {
		cmd, stdout, _ := startDemo(t, t.TempDir(), "--kill-at", point)
		if err := cmd.Wait(); err == nil {
			t.Errorf("--kill-at %q was taken: %s", point, stdout)
		}
	}
}
