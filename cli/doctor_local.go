package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/deedledger/deed/workspace"
)

// rights warns of a file or folder that others than its owner can use.
func (d *doctor) rights(check, path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return
	}
	if info.Mode().Perm()&0o077 == 0 {
		return
	}
	got := d.say(found{check, checkFail, "chmod go-rwx " + wordOf(path)}, "others may use %s, mode %04o", path, info.Mode().Perm())
	d.mend(got, "took the rights of others", func() error { return os.Chmod(path, info.Mode().Perm()&^0o077) })
}

// folderRights checks who may read what the ledger's folder keeps.
func (d *doctor) folderRights(f *server.Folder) {
	before := len(d.list)
	for _, name := range []string{"", "service.key", "client.json"} {
		d.rights("folder", filepath.Join(f.Dir, name))
	}
	d.serviceKey(f)
	if len(d.list) == before {
		d.say(found{"folder", checkOK, ""}, "%s is its owner's alone", f.Dir)
	}
}

// serviceKey holds the service's key, where it is kept here, against the one
// that clients are to trust.
func (d *doctor) serviceKey(f *server.Folder) {
	key, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(f.KeyPath()))
	if errors.Is(err, fs.ErrNotExist) {
		return // the service runs elsewhere
	}
	if err == nil && key.String() != f.Service {
		err = errors.New("service.key is not the key that ledger.json names")
	}
	if err != nil {
		d.say(found{"folder", checkFail, "put back the ledger.json, or the service.key, that was there"}, "%v", err)
	}
}

// runFile looks for what a killed service left.
func (d *doctor) runFile(f *server.Folder) {
	if _, elsewhere, err := f.Remote(); elsewhere || err != nil {
		return // a joined ledger has none: its service runs on another machine
	}
	running, err := f.Running()
	if errors.Is(err, server.ErrNotRunning) {
		return
	}
	if busy, errUse := f.InUse(); err != nil || errUse != nil || busy {
		return // the service's own check says more
	}
	got := d.say(found{"run-file", checkWarn, "deed up starts the next service; or deed doctor --repair"}, "process %d is gone and left its run file", running.PID)
	d.mend(got, "removed the run file", func() error { return os.Remove(filepath.Join(f.Dir, "run.json")) })
}

// keyFiles checks the rights of the private keys that are kept here.
func (d *doctor) keyFiles() {
	p, err := d.env.places()
	if err != nil {
		d.say(found{"keys", checkFail, ""}, "%v", err)
		return
	}
	files, _ := filepath.Glob(p.KeyPath("*")) // the pattern is well formed
	slices.Sort(files)
	before := len(d.list)
	for _, file := range files {
		d.rights("keys", file)
	}
	switch {
	case len(files) == 0:
		d.say(found{"keys", checkWarn, "make one with: deed key new NAME"}, "there is no key here")
	case len(d.list) == before:
		d.say(found{"keys", checkOK, ""}, "%s, each its owner's alone", counted(len(files), "key file"))
	}
}

// worktree checks the git worktree around the working directory.
func (d *doctor) worktree(ctx context.Context) {
	repo, err := workspace.Open(ctx, d.env.Dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		d.say(found{"git", checkWarn, "run it in a worktree of the task's git repository"}, "this folder lies in no git worktree")
		return
	}
	if err != nil {
		d.say(found{"git", checkFail, classify(err).hint}, "%v", err)
		return
	}
	if repo.Shallow() {
		d.say(found{"git", checkWarn, "git fetch --unshallow"}, "the clone is shallow: what its history leaves out cannot be told")
	} else {
		d.say(found{"git", checkOK, ""}, "worktree %s has its whole history", repo.Top())
	}
	d.identity(ctx)
	task, err := repo.BoundTask()
	if errors.Is(err, workspace.ErrNoTaskBound) {
		return
	}
	if err != nil {
		d.say(found{"binding", checkWarn, "bind it again with the next claim"}, "%v", err)
		return
	}
	state, err := d.existing(ctx, task)
	switch {
	case err != nil && d.folder == nil, classify(err).exit == ExitUnavailable:
		return // the service's own check says why
	case err == nil && !state.Task.State.Final():
		d.say(found{"binding", checkOK, ""}, "this worktree is bound to %s, which is %s", task, state.Task.State)
	case err == nil:
		got := d.say(found{"binding", checkWarn, "deed doctor --repair unbinds it"}, "this worktree is bound to %s, which is %s", task, state.Task.State)
		d.mend(got, "unbound the task", repo.UnbindTask)
	default:
		d.say(found{"binding", checkWarn, "deed task list shows the tasks"}, "this worktree is bound to %s: %v", task, err)
	}
}
