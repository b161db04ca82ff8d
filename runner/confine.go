package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// ErrConfine says that a command could not be confined as asked, and so was not run.
var ErrConfine = errors.New("could not confine the command")

// maxGrants bounds the paths of one confinement.
const maxGrants = 4096

// Confinement keeps a command from most of the machine: it reads the system's programs
// and libraries and what the caller lists, and writes below its own folders alone. It
// cannot send a signal to a process outside, where the kernel knows that (Landlock 6).
// The network stays open: checks talk to services. See Landlock for when it holds.
type Confinement struct {
	// Launch is the program, with its first arguments, that calls [Confine] with the
	// arguments that follow: a program cannot be restricted from outside.
	Launch []string
	// Denied are folders and files of which nothing is read, whatever contains them.
	Denied []string
	// Readable and Writable widen what a command may use.
	Readable []string
	Writable []string
}

// confineSpec is what the launched program is told: absolute paths that exist.
type confineSpec struct {
	Program string   `json:"program"`
	Read    []string `json:"read"`
	Write   []string `json:"write"`
	Devices []string `json:"devices"`
}

// systemFolders hold programs, libraries and settings that programs read.
func systemFolders() []string {
	return []string{
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/etc", "/nix/store", "/gnu/store", "/snap", "/proc", "/sys",
		"/run/systemd/resolve",
	}
}

// systemSecrets are the secrets that lie in system folders.
func systemSecrets() []string {
	return []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private", "/etc/kubernetes"}
}

// devices are the files below /dev that programs expect.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// launch turns a command into one that is confined: the program is found as without
// confinement, own are the folders that it may write to.
func (c *Confinement) launch(p *process, own ...string) error {
	program, err := lookProgram(p.argv[0], p.dir, p.env)
	if err != nil {
		return err
	}
	if len(c.Launch) == 0 {
		return fmt.Errorf("%w: no program to launch it", ErrConfine)
	}
	spec := confineSpec{Program: program, Devices: existing(devices())}
	denied := resolved(slices.Concat(c.Denied, systemSecrets()))
	for _, path := range slices.Concat(systemFolders(), searched(p.env), c.Readable, []string{program}) {
		spec.Read = append(spec.Read, without(path, denied)...)
	}
	for _, folder := range append(searched(p.env), filepath.Dir(realPath(program))) {
		spec.Read = append(spec.Read, toolRoot(folder, denied)...)
	}
	for _, path := range own {
		spec.Write = append(spec.Write, realPath(path))
		spec.Read = append(spec.Read, borrowedObjects(path)...)
	}
	for _, path := range c.Writable {
		spec.Write = append(spec.Write, without(path, denied)...)
	}
	slices.Sort(spec.Read)
	spec.Read = slices.Compact(spec.Read)
	if n := len(spec.Read) + len(spec.Write); n > maxGrants {
		return fmt.Errorf("%w: %d paths, limit %d", ErrConfine, n, maxGrants)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfine, err)
	}
	p.argv = slices.Concat(c.Launch, []string{string(text)}, p.argv)
	p.confined = true
	return nil
}

// searched returns the folders in which a command's environment looks for programs.
func searched(env []string) []string {
	search := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	return slices.DeleteFunc(filepath.SplitList(search), func(s string) bool { return !filepath.IsAbs(s) })
}

// toolRoot gives the folder above a "bin", where a toolchain keeps its libraries, unless
// something denied lies in it: above a person's ~/bin lies their home.
func toolRoot(folder string, denied []string) []string {
	folder = realPath(folder)
	root := filepath.Dir(folder)
	if filepath.Base(folder) != "bin" || root == "/" || slices.ContainsFunc(denied, func(d string) bool { return below(root, d) }) {
		return nil
	}
	return without(root, denied)
}

// without gives the paths that together hold everything below path but what is denied.
// It follows path itself, and no link below it.
func without(path string, denied []string) []string {
	path = realPath(path)
	if path == "" || slices.ContainsFunc(denied, func(d string) bool { return below(d, path) }) {
		return nil
	}
	if !slices.ContainsFunc(denied, func(d string) bool { return below(path, d) }) {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var list []string
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			list = append(list, without(filepath.Join(path, entry.Name()), denied)...)
		}
	}
	return list
}

// below reports whether path is folder or lies in it; both are clean and absolute.
func below(folder, path string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// realPath resolves links; "" for what is not there or is not absolute.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return ""
	}
	return real
}

// resolved returns paths with and without their links resolved: something denied that is
// not there yet stays denied under its name.
func resolved(paths []string) []string {
	var list []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		list = append(list, filepath.Clean(path))
		if real := realPath(path); real != "" {
			list = append(list, real)
		}
	}
	return list
}

func existing(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

// borrowedObjects gives the object stores that a checkout borrows from, so that a command
// can ask git about its own commit.
func borrowedObjects(root string) []string {
	var list []string
	next := []string{filepath.Join(root, ".git", "objects")}
	for len(next) > 0 && len(list) < 16 {
		text, err := os.ReadFile(filepath.Join(next[0], "info", "alternates"))
		next = next[1:]
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if plain, err := strconv.Unquote(line); err == nil { // git quotes as C does
				line = plain
			}
			if real := realPath(line); real != "" && !slices.Contains(list, real) {
				list, next = append(list, real), append(next, real)
			}
		}
	}
	return list
}
