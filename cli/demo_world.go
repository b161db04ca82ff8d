package cli

import (
	"bufio"
	"context"
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
	var hang bool
	publish := &cobra.Command{
		Use: "publish FILE", Short: "Act: append one line", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.publish(args[0]); err != nil {
				return err
			}
			if hang {
				<-cmd.Context().Done() // acted, and never says so
			}
			return nil
		},
	}
	publish.Flags().BoolVar(&hang, "hang", false, "wait for ever after the act, before the reply")
	probe := &cobra.Command{
		Use: "probe FILE", Short: "Tell whether a call acted", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return e.probeWorld(args[0]) },
	}
	cmd.AddCommand(publish, probe)
	return cmd
}

// publish appends the line of one call, in one write.
func (e *Env) publish(file string) error {
	lines, err := readWorld(file)
	if err != nil {
		return err
	}
	line, err := json.Marshal(posted{
		ID: fmt.Sprintf("preview-%d", len(lines)+1), Key: e.Getenv("DEED_IDEMPOTENCY_KEY"), Token: e.Getenv("DEED_TOKEN"), Commit: e.Getenv("DEED_EFFECT_COMMIT"),
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Close())
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

// awaitPosted waits until the outside world has a line.
func awaitPosted(ctx context.Context, file string, ended <-chan struct{}) error {
	return await(ctx, demoPoll, func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("%w: the call ended before it could be interrupted", errPromise)
		default:
		}
		lines, err := readWorld(file)
		return len(lines) > 0, err
	})
}
