package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deedledger/deed/runner"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// posted is one line of the file that stands for the outside world in the
// demo: what a provider would keep of one call.
type posted struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Token  string `json:"token"`
	Commit string `json:"commit"`
}

// newDemoWorldCommand builds "deed demo-world", the provider of the demo: a
// file with one line for each call that acted.
func newDemoWorldCommand(e *Env, _ *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "demo-world", Short: "Stand for the outside world in deed demo", Hidden: true}
	publish := &cobra.Command{
		Use: "publish FILE", Short: "Act: append one line", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := stopWorld(args[0], placeActing); err != nil {
				return err
			}
			line, err := e.publish(args[0])
			if err != nil {
				return err
			}
			if err := stopWorld(args[0], placeActed); err != nil {
				return err
			}
			return e.reply(line)
		},
	}
	probe := &cobra.Command{
		Use: "probe FILE", Short: "Tell whether a call acted", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return e.probeWorld(args[0]) },
	}
	cmd.AddCommand(publish, probe)
	return cmd
}

// worldStop is the file beside an outside world that says, as --demo-stop
// does, where the next call stops: the call's own command line is the same for
// whoever makes it.
func worldStop(file string) string { return file + ".stop" }

// stopWorld stops a call where it is told to.
func stopWorld(file, place string) error {
	text, err := os.ReadFile(worldStop(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if reached, ok := stopsAt(string(text), place); ok {
		return stopUntilGone(reached)
	}
	return nil
}

// publish appends the line of one call, in one write.
func (e *Env) publish(file string) (posted, error) {
	lines, err := readWorld(file)
	if err != nil {
		return posted{}, err
	}
	p := posted{
		ID: fmt.Sprintf("%s-%d", e.Getenv("DEED_EFFECT_KIND"), len(lines)+1), Key: e.Getenv("DEED_IDEMPOTENCY_KEY"),
		Token: e.Getenv("DEED_TOKEN"), Commit: e.Getenv("DEED_EFFECT_COMMIT"),
	}
	line, err := json.Marshal(p)
	if err != nil {
		return posted{}, fmt.Errorf("publish: %w", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return posted{}, fmt.Errorf("publish: %w", err)
	}
	_, err = out.Write(append(line, '\n'))
	return p, errors.Join(err, out.Close())
}

// reply says what a call has made.
func (e *Env) reply(p posted) error {
	text, err := json.Marshal(runner.EffectReply{ExternalID: p.ID, Token: p.Token})
	if err == nil {
		err = os.WriteFile(e.Getenv("DEED_RESULT_FILE"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	return nil
}

// probeWorld prints what a probe prints: whether the file has a line with the
// key that is asked for.
func (e *Env) probeWorld(file string) error {
	lines, err := readWorld(file)
	if err != nil {
		return err
	}
	answer := map[string]any{"status": string(runner.ProbeAbsent), "complete": true}
	for _, l := range lines {
		if l.Key == e.Getenv("DEED_IDEMPOTENCY_KEY") {
			answer = map[string]any{"status": string(runner.ProbeFound), "externalId": l.ID, "token": l.Token}
		}
	}
	text, err := json.Marshal(answer, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	_, err = fmt.Fprintln(e.Stdout, string(text))
	return err
}

// readWorld reads the file that stands for the outside world; a missing one is
// empty.
func readWorld(file string) ([]posted, error) {
	in, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read outside world: %w", err)
	}
	defer in.Close()
	var lines []posted
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		var l posted
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("read outside world: line %d: %w", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	return lines, scan.Err()
}
