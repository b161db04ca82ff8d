package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// newArtifactGetCommand builds "deed artifact get".
func newArtifactGetCommand(e *Env, f *flags) *cobra.Command {
	var file string
	var quarantined bool
	cmd := &cobra.Command{
		Use: "get DIGEST", Short: "Get an artifact's bytes, verified", Args: cobra.ExactArgs(1),
		Long: `Get an artifact's bytes, to a file or to standard output. They are compared with the
digest before any of them is written. Text that goes to a terminal is made plain;
anything else does not go there. The name in the ledger is nobody's path: the file is
the one that you name.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := artifactDigest(args[0]); err != nil {
				return err
			}
			if file == "" && s.json {
				return fmt.Errorf("%w: -o json needs --file: the bytes are no JSON", errUsage)
			}
			return s.getArtifact(ctx, args[0], file, quarantined)
		}),
	}
	cmd.Flags().StringVarP(&file, "file", "O", "", "file to write, replaced as a whole; default standard output")
	cmd.Flags().BoolVar(&quarantined, "quarantined", false, "even when it is quarantined, as an admin")
	return cmd
}

// artifactGot is the result of artifact get into a file.
type artifactGot struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	File   string `json:"file"`
}

func (s *session) getArtifact(ctx context.Context, digest, path string, quarantined bool) error {
	dir := ""
	if path != "" {
		dir = filepath.Dir(s.abs(path))
	}
	part, err := os.CreateTemp(dir, ".deed-artifact-*")
	if err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	defer os.Remove(part.Name()) // after a rename there is nothing of that name
	defer part.Close()
	size, err := s.fetchArtifact(ctx, part, digest, quarantined)
	if err != nil {
		return err
	}
	if path == "" {
		return s.spill(part, size)
	}
	if err := part.Sync(); err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	if err := os.Rename(part.Name(), s.abs(path)); err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	return s.result("artifact", artifactGot{digest, size, path}, func(w *textWriter) { w.line("wrote %d bytes to %s", size, path) })
}

// fetchArtifact writes an artifact's bytes to a file, from its start. It signs
// the request where the artifact is not public.
func (s *session) fetchArtifact(ctx context.Context, file *os.File, digest string, quarantined bool) (int64, error) {
	c, err := s.dial()
	if err != nil {
		return 0, err
	}
	if !quarantined {
		size, err := c.GetArtifact(ctx, file, digest, nil, false)
		if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Code != ledger.CodeSignature {
			return size, damagedArtifact(err)
		}
	}
	key, err := s.signingKey()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(file.Truncate(0), rewind(file)); err != nil {
		return 0, fmt.Errorf("get artifact: %w", err)
	}
	size, err := c.GetArtifact(ctx, file, digest, &key, quarantined)
	return size, damagedArtifact(err)
}

func rewind(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// damagedArtifact gives damage of an artifact its hint: history is whole.
func damagedArtifact(err error) error {
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == ledger.CodeDamage {
		return withHint(err, "the bytes changed where they are kept: put them again from a copy: deed artifact put FILE")
	}
	return err
}

// spill writes verified bytes to standard output. A terminal gets text alone,
// made plain.
func (s *session) spill(file *os.File, size int64) error {
	if err := rewind(file); err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	if !s.env.Terminal {
		_, err := io.Copy(s.out, file)
		return err
	}
	text := textSieve{text: true}
	if _, err := io.Copy(&text, file); err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	if !text.whole() {
		return fmt.Errorf("%w: %d bytes that are no text do not go to a terminal: name a file with --file", errUsage, size)
	}
	if err := rewind(file); err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("get artifact: %w", err)
	}
	w := &textWriter{out: s.out}
	for _, line := range projections.PlainLines(string(data), 0) {
		w.block(line)
	}
	return w.err
}
