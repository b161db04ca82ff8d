package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/secrets"
	"github.com/spf13/cobra"
)

// clean returns text that may leave for the ledger: what looks like a secret,
// and what was passed on as one, is redacted.
func (s *session) clean(text string) string {
	text, _ = secrets.Redact(text, s.known...)
	return text
}

// newSecretCommand builds "deed secret".
func newSecretCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "secret", Short: "Look for what must not leave for a ledger"}
	cmd.AddCommand(newSecretFindCommand(e, f))
	return cmd
}

// maxSecretFile is the largest file that is looked through, bytes.
const maxSecretFile = 64 << 20

func newSecretFindCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "find [FILE…]", Short: "Name the places of files that look like secrets",
		Long: "Name the places of files, or of standard input, that look like secrets, by line and kind and never by value: what a\n" +
			"write with the same text would be refused for. Exit code 23 says that there are some. It is a sieve: what has no\n" +
			"known shape and no name beside it passes.",
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error { return s.findSecrets(args) }),
	}
}

// secretPlace is a line that looks like a secret.
type secretPlace struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitzero"`
	Pointer string `json:"pointer,omitzero"` // in a JSON file
	Kind    string `json:"kind"`
}

func (s *session) findSecrets(files []string) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	list := []secretPlace{}
	for _, file := range files {
		text, err := s.readInput(file, maxSecretFile)
		if err != nil {
			return err
		}
		list = append(list, secretsOf(file, string(text))...)
	}
	err := s.result("secrets", list, func(w *textWriter) {
		for _, p := range list {
			w.line("%s: %s", where(p), p.Kind)
		}
	})
	if err != nil || len(list) == 0 {
		return err
	}
	return told{refuse(ledger.CodeSecret, ledger.RuleSecret, "%s that look like secrets", counted(len(list), "place"))}
}

func where(p secretPlace) string {
	if p.Pointer != "" {
		return plain(p.File) + " " + plain(p.Pointer)
	}
	return fmt.Sprintf("%s:%d", plain(p.File), p.Line)
}

func secretsOf(file, text string) []secretPlace {
	var list []secretPlace
	line, at := 1, 0
	for _, f := range secrets.Find(text) {
		line += strings.Count(text[at:f.Start], "\n")
		at = f.Start
		list = append(list, secretPlace{File: file, Line: line, Kind: f.Kind})
	}
	for _, p := range secrets.FindJSON([]byte(text)) {
		if p.Kind == secrets.KindPrompt || p.Kind == secrets.KindTranscript || len(list) == 0 {
			list = append(list, secretPlace{File: file, Pointer: p.Pointer, Kind: p.Kind})
		}
	}
	return list
}
