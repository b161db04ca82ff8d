package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestBox reads and writes below a folder, and follows no link in it.
func TestBox(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	b, err := OpenBox(dir)
	must(t, err)
	defer b.Close()
	must(t, os.WriteFile(filepath.Join(outside, "x"), []byte("outside"), 0o600))
	must(t, b.Write("a/b/c", []byte("1"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/c.tmp"), []byte("of a run that was killed"), 0o600))
	must(t, b.Write("a/b/c", []byte("2"), 0o644))
	text, _, err := b.Read("a/b/c", 1)
	if err != nil || string(text) != "2" {
		t.Errorf("read %q, error %v", text, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a/d.tmp"), nil, 0o600))
	if files, err := b.Files("a", 1); err != nil || !slices.Equal(files, []string{"a/b/c"}) {
		t.Errorf("files %q, error %v", files, err)
	}
	if files, err := b.Files("none/at/all", 1); err != nil || len(files) != 0 {
		t.Errorf("files %q, error %v", files, err)
	}
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink("b", filepath.Join(dir, "a/in")))
	must(t, os.Symlink("c", filepath.Join(dir, "a/b/link")))
	for name, err := range map[string]error{
		"read through a link out": second(b.Read("out/x", 9)), "read through a link inside": second(b.Read("a/in/c", 9)), "read a link": second(b.Read("a/b/link", 9)),
		"write through a link out": b.Write("out/y", nil, 0o644), "write through a link inside": b.Write("a/in/c", nil, 0o644), "write a link": b.Write("a/b/link", nil, 0o644),
		"write a folder": b.Write("a/b", nil, 0o644), "list a link": listed(b.Files("a", 9)), "a file as a folder": b.Write("a/b/c/d", nil, 0o644),
	} {
		if !errors.Is(err, ErrLink) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, _, err := b.Read("../x", 9); err == nil {
		t.Error("read above the folder")
	}
	if err := b.Write("../x", nil, 0o644); err == nil {
		t.Error("wrote above the folder")
	}
	if _, _, err := b.Read("a/b/c", 0); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a large file: error %v", err)
	}
	if _, _, err := b.Read("a/z", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: error %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "x")); err != nil || string(text) != "outside" {
		t.Errorf("the file outside holds %q, error %v", text, err)
	}
}

func second(_ []byte, _ fs.FileMode, err error) error { return err }

func listed(_ []string, err error) error { return err }

// TestBoxAtOnce lets processes write one file at once: each ends well, and the file is one of theirs.
func TestBoxAtOnce(t *testing.T) {
	dir := t.TempDir()
	if name := os.Getenv("DEED_BOX_DIR"); name != "" {
		dir = name
	}
	b, err := OpenBox(dir)
	must(t, err)
	defer b.Close()
	text := bytes.Repeat([]byte{byte('a' + os.Getpid()%26)}, 1<<16)
	if os.Getenv("DEED_BOX_DIR") != "" {
		for range 50 {
			must(t, b.Write("f", text, 0o644))
		}
		return
	}
	var all []*exec.Cmd
	for range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBoxAtOnce$")
		cmd.Env = append(os.Environ(), "DEED_BOX_DIR="+dir)
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		must(t, cmd.Wait())
	}
	got, _, err := b.Read("f", 1<<20)
	if err != nil || len(got) != len(text) || len(bytes.Trim(got, string(got[:1]))) != 0 {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	if files, err := b.Files(".", 1); err != nil || len(files) != 1 {
		t.Errorf("files %q, %v", files, err)
	}
}
