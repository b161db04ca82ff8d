package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedledger/deed/attest"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

const attestationHelp = "write the receipt as an in-toto test result to this file, signed by your key"

var (
	// errNoPass says that an attestation verifies and states no pass.
	errNoPass = errors.New("the attestation states no pass")
	// errNotAttested says that an attestation does not verify.
	errNotAttested = errors.New("not attested")
)

// finishReceipt writes the attestation of a recorded receipt, shows the receipt,
// and gives its exit code.
func (s *session) finishReceipt(ctx context.Context, b *receiptBuilder, ack ledger.Ack, attestation string) error {
	done := receiptDone{
		Ack: ack, InputDigest: b.receipt.InputDigest, Assurance: b.receipt.Verifier.Assurance, Confinement: b.confinement, Checks: b.receipt.Checks,
	}
	if attestation != "" {
		if err := s.attest(b, ack, attestation); err != nil {
			return fmt.Errorf("the receipt is recorded as event %s: %w", ack.EventID, err)
		}
		done.Attestation = attestation
	}
	task := b.task.ID
	if after, err := s.task(ctx, task); err == nil {
		done.State = after.Task.State
	}
	if err := s.result("receipt", done, func(w *textWriter) { showReceipt(w, task, done) }); err != nil {
		return err
	}
	return receiptVerdict(task, done)
}

// attest writes the attestation of a recorded receipt.
func (s *session) attest(b *receiptBuilder, ack ledger.Ack, path string) error {
	about, err := aboutAttempt(b.task)
	if err != nil {
		return err
	}
	recorded, err := events.ParseHash(ack.Hash)
	if err != nil {
		return err
	}
	statement, err := attest.Of(about, &b.receipt, recorded)
	if err != nil {
		return err
	}
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	envelope, err := attest.Seal(statement, key)
	if err != nil {
		return err
	}
	if err := replaceFile(s.abs(path), envelope); err != nil {
		return fmt.Errorf("write attestation: %w", err)
	}
	return nil
}

// aboutAttempt says what a receipt of the task's result is about: the result and
// the last attempt, whose result it is.
func aboutAttempt(t *projections.Task) (attest.About, error) {
	if t.Result == nil || len(t.Attempts) == 0 {
		return attest.About{}, refuseState("receipt.recorded", "task %s has no result", t.ID)
	}
	opened, err := events.ParseHash(t.Attempts[len(t.Attempts)-1].Hash)
	if err != nil {
		return attest.About{}, fmt.Errorf("read attempt: %w", err)
	}
	return attest.About{Commit: t.Result.Data.Head, Tree: t.Result.Data.Tree, Attempt: opened}, nil
}

// attested is the result of receipt verify.
type attested struct {
	Result  string   `json:"result"`
	URL     string   `json:"url,omitzero"`
	Passed  []string `json:"passedTests,omitempty"`
	Warned  []string `json:"warnedTests,omitempty"`
	Failed  []string `json:"failedTests,omitempty"`
	Commit  string   `json:"commit"`
	Tree    string   `json:"tree"`
	Attempt string   `json:"attempt"` // eventhash of attempt.opened
	Key     string   `json:"key"`
}

// newReceiptVerifyCommand builds "deed receipt verify".
func newReceiptVerifyCommand(e *Env, f *flags) *cobra.Command {
	var keyFile, commit, tree, attempt string
	cmd := &cobra.Command{
		Use: "verify FILE [TASK] --key KEY.pub", Short: "Verify a receipt's attestation for one result and attempt", Args: cobra.RangeArgs(1, 2),
		Long: `Verify an attestation that receipt run or receipt import wrote: signed by exactly this
key, and about exactly this commit, tree and attempt. These are the task's result, asked
of the ledger; or with --commit, --tree and --attempt what you give, without any ledger.
The attempt is the eventhash of its attempt.opened.

Exit code 0: it verifies and states that every check passed: PASSED, or WARNED where one
was flaky or has notes; 1: it verifies and states FAILED; 10: it does not verify.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := needs("--key", keyFile); err != nil {
				return err
			}
			about, err := s.aboutWhat(ctx, args[1:], commit, tree, attempt)
			if err != nil {
				return err
			}
			return s.verifyAttestation(args[0], keyFile, about)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&keyFile, "key", "", "public key of the verifier, as deed key show writes it, or PEM")
	fs.StringVar(&commit, "commit", "", "the result's head, instead of TASK")
	fs.StringVar(&tree, "tree", "", "the result's git tree, instead of TASK")
	fs.StringVar(&attempt, "attempt", "", "eventhash of attempt.opened, instead of TASK")
	return cmd
}

// aboutWhat takes what an attestation has to be about from the flags or the ledger.
func (s *session) aboutWhat(ctx context.Context, args []string, flags ...string) (attest.About, error) {
	if flags[0] == "" && flags[1] == "" && flags[2] == "" {
		task, err := s.taskArg(ctx, args)
		if err != nil {
			return attest.About{}, err
		}
		state, err := s.existing(ctx, task)
		if err != nil {
			return attest.About{}, err
		}
		return aboutAttempt(state.Task)
	}
	if err := needs("--commit", flags[0], "--tree", flags[1], "--attempt", flags[2]); err != nil {
		return attest.About{}, err
	}
	opened, err := events.ParseHash(flags[2])
	if err != nil {
		return attest.About{}, fmt.Errorf("%w: --attempt: %w", errUsage, err)
	}
	return attest.About{Commit: flags[0], Tree: flags[1], Attempt: opened}, nil
}

func (s *session) verifyAttestation(path, keyFile string, about attest.About) error {
	key, err := signer.ReadPublicKeyFile(s.abs(keyFile))
	if err != nil {
		return fmt.Errorf("%w: read key: %w", errUsage, err)
	}
	envelope, err := readBounded(s.abs(path), signer.MaxEnvelopeBytes)
	if err != nil {
		return err
	}
	statement, err := attest.Verify(envelope, key, about)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAttested, err)
	}
	p := statement.Predicate
	done := attested{p.Result, p.URL, p.PassedTests, p.WarnedTests, p.FailedTests, about.Commit, about.Tree, about.Attempt.String(), string(key.ID())}
	if err := s.result("attestation", done, func(w *textWriter) {
		w.line("%s: signed by %s", done.Result, done.Key)
		w.line("  commit %s, attempt %s", done.Commit, done.Attempt)
		w.line("  passed %d, warned %d, failed %d", len(done.Passed), len(done.Warned), len(done.Failed))
	}); err != nil {
		return err
	}
	if p.Result == attest.ResultFailed {
		return told{withHint(fmt.Errorf("%w: %s", errNoPass, p.Result), "see its tests: -o json")}
	}
	return nil
}

// readBounded reads a file of at most limit bytes, and one more so that a reader
// refuses it by its length.
func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read attestation: %w", err)
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit+1))
}
