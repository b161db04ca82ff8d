package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newArtifactCommand builds "deed artifact".
func newArtifactCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "artifact", Short: "Keep what is too large for an event, by its digest"}
	cmd.AddCommand(newArtifactPutCommand(e, f), newArtifactGetCommand(e, f), newArtifactQuarantineCommand(e, f), newArtifactVerifyCommand(e, f),
		&cobra.Command{
			Use: "list [TASK]", Short: "List a task's artifacts", Args: cobra.MaximumNArgs(1),
			RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
				task, err := s.taskArg(ctx, args)
				if err != nil {
					return err
				}
				return s.listArtifacts(ctx, task)
			}),
		})
	return cmd
}

// artifactLine is one artifact as commands show it.
type artifactLine struct {
	events.Artifact
	Task        string          `json:"task"`
	Actor       string          `json:"actor"`
	Position    events.Position `json:"position"`
	Quarantined bool            `json:"quarantined,omitzero"`
}

// artifactLines returns a task's artifacts, in order of history.
func artifactLines(t *projections.Task) []artifactLine {
	list := []artifactLine{}
	for _, a := range t.Artifacts {
		list = append(list, artifactLine{Artifact: a.Data, Task: t.ID, Actor: a.Actor, Position: a.Position, Quarantined: t.Quarantined(a.Data.Digest)})
	}
	return list
}

func (s *session) listArtifacts(ctx context.Context, task string) error {
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	list := artifactLines(state.Task)
	return s.result("artifacts", list, func(w *textWriter) {
		rows := make([][]string, len(list))
		for i, a := range list {
			class := a.Class
			if a.Quarantined {
				class += ", quarantined"
			}
			rows[i] = []string{a.Digest, strconv.FormatInt(a.Size, 10), a.MediaType, class, a.Actor, a.Name}
		}
		w.table([]string{"DIGEST", "BYTES", "TYPE", "CLASS", "BY", "NAME"}, rows)
	})
}

// artifactDigest refuses what is no digest.
func artifactDigest(digest string) error {
	if _, err := events.ParseHash(digest); err != nil {
		return fmt.Errorf("%w: %q is no SHA-256 digest in lower-case hex", errUsage, digest)
	}
	return nil
}

// newArtifactPutCommand builds "deed artifact put".
func newArtifactPutCommand(e *Env, f *flags) *cobra.Command {
	d := events.Artifact{}
	cmd := &cobra.Command{
		Use: "put FILE|- [TASK]", Short: "Upload a file and record it as an artifact of a task", Args: cobra.RangeArgs(1, 2),
		Long: `Upload a file, or standard input, and record it by its SHA-256. The bytes are there
before the event is: run the command again after a crash, and it does what is missing.
Who may read it: public, anybody who reaches the service; internal, every actor;
restricted, whoever recorded it first, owners, reviewers, verifiers, auditors, operators
and admins. Of several records of the same bytes the strictest class counts.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := choose("--class", d.Class, artifactClasses()); err != nil {
				return err
			}
			task, err := s.taskArg(ctx, args[1:])
			if err != nil {
				return err
			}
			return s.putArtifact(ctx, args[0], task, d)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&d.Class, "class", "internal", "who may read it: "+either(artifactClasses()))
	fs.StringVar(&d.MediaType, "type", "", "media type; default text/plain or application/octet-stream, by what is in it")
	fs.StringVar(&d.Name, "name", "", "what it is called; default the file's name")
	fs.StringVar(&d.About, "about", "", "id of the event that it belongs to")
	return writes(cmd, f)
}

func artifactClasses() []string { return []string{"public", "internal", "restricted"} }

// artifactPut is the result of artifact put.
type artifactPut struct {
	ledger.Ack
	Artifact events.Artifact `json:"artifact"`
	// Uploaded says that the bytes were not there before.
	Uploaded bool `json:"uploaded"`
	// Redacted is how many places were replaced by a marker: the digest is of
	// what is left.
	Redacted int `json:"redacted,omitzero"`
}

// errRecorded says that the task has the very record already.
var errRecorded = errors.New("artifact is recorded already")

func (s *session) putArtifact(ctx context.Context, path, task string, d events.Artifact) error {
	redacted := 0
	source, err := s.openArtifact(path, &d, &redacted)
	if err != nil {
		return err
	}
	defer source.Close()
	done, err := s.storeArtifact(ctx, source, task, d)
	if err != nil {
		return err
	}
	done.Redacted = redacted
	return s.result("artifact", done, func(w *textWriter) {
		w.acked(done.Ack, "recorded artifact %s of %s: %d bytes, %s", d.Digest, task, d.Size, d.Class)
		if done.Redacted > 0 {
			w.line("  redacted: %s that looked like secrets; the digest is of what is left", counted(done.Redacted, "place"))
		}
	})
}

// storeArtifact uploads bytes, where they are not there, and records them.
func (s *session) storeArtifact(ctx context.Context, source *os.File, task string, d events.Artifact) (artifactPut, error) {
	done := artifactPut{Artifact: d}
	decide := func(state protocol.TaskState, _ author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		if i := slices.IndexFunc(state.Task.Artifacts, func(a projections.Artifact) bool { return a.Data == d }); i >= 0 {
			a := state.Task.Artifacts[i]
			done.Ack = ledger.Ack{EventID: a.EventID, Hash: a.Hash, Position: a.Position, Admitted: a.Admitted, Existing: true, Rule: "artifact.recorded"}
			return draft{}, errRecorded
		}
		return draft{payload: &d}, nil
	}
	recorded, err := s.askArtifact(ctx, task, decide, &done.Ack)
	if err != nil {
		return artifactPut{}, err
	}
	if !s.flags.dryRun {
		err = s.uploadArtifact(ctx, source, &done)
	}
	if err == nil && !s.flags.dryRun && !recorded {
		var ack ledger.Ack
		if ack, err = s.append(ctx, task, decide); err == nil {
			done.Ack = ack
		}
	}
	if err != nil && !errors.Is(err, errRecorded) { // by somebody who was faster
		return artifactPut{}, err
	}
	return done, nil
}

func (s *session) uploadArtifact(ctx context.Context, source *os.File, done *artifactPut) error {
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	present, err := s.client.PutArtifact(ctx, source, done.Artifact.Digest, done.Artifact.Size, key)
	done.Uploaded = err == nil && !present
	return err
}

// askArtifact asks the ledger, without writing, whether it would take the
// record, before bytes travel; recorded says that it has it.
func (s *session) askArtifact(ctx context.Context, task string, decide func(protocol.TaskState, author) (draft, error), ack *ledger.Ack) (recorded bool, err error) {
	dryRun := s.flags.dryRun
	s.flags.dryRun = true
	defer func() { s.flags.dryRun = dryRun }()
	got, err := s.append(ctx, task, decide)
	if errors.Is(err, errRecorded) {
		return true, nil
	}
	*ack = got
	return false, err
}

// openArtifact opens the file to upload, standard input and what was redacted
// as a copy without a name, and fills digest, size and defaults.
func (s *session) openArtifact(path string, d *events.Artifact, redacted *int) (*os.File, error) {
	var file *os.File
	var err error
	if path == "-" {
		file, err = copied(s.env.Stdin)
	} else {
		file, err = os.Open(s.abs(path))
	}
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	file, *redacted, err = s.redacted(file, path)
	if err == nil {
		err = measure(file, path, d)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
