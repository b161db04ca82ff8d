package runner

import (
	"fmt"
	"os"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	// leastLandlock is the first version that keeps a file from being cut to nothing.
	leastLandlock = 3
	// mostLandlock is the newest version whose rules are used. Version 9 would cut off
	// services behind a socket in a folder.
	mostLandlock = 7
	// confineReport is the descriptor to which Confine tells why it failed.
	confineReport = 3
)

// Landlock gives the version of the kernel's Landlock interface that confines commands
// here, or 0 and why there is none.
func Landlock() (version int, reason string) {
	got, err := kernel.LandlockGetABIVersion()
	switch {
	case err != nil:
		return 0, "this kernel has no Landlock, or it is switched off"
	case got < leastLandlock:
		return 0, fmt.Sprintf("Landlock is of version %d here, and it takes %d", got, leastLandlock)
	}
	return min(got, mostLandlock), ""
}

// Confine restricts this process as spec says, which is what [Confinement] wrote, and
// then becomes the command. It returns only when that failed; the command was not run.
// The caller exits with any code but 0. Error: ErrConfine, or why the program cannot run.
func Confine(spec string, argv []string) error {
	err := confine(spec, argv)
	report := os.NewFile(confineReport, "report")
	_, _ = report.WriteString(err.Error())
	_ = report.Close()
	return err
}

func confine(text string, argv []string) error {
	unix.CloseOnExec(confineReport)
	var spec confineSpec
	if err := json.Unmarshal([]byte(text), &spec, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%w: %w", ErrConfine, err)
	}
	version, reason := Landlock()
	if version == 0 {
		return fmt.Errorf("%w: %s", ErrConfine, reason)
	}
	if err := restrict(version, spec); err != nil {
		return fmt.Errorf("%w: %w", ErrConfine, err)
	}
	return fmt.Errorf("start command: %w", syscall.Exec(spec.Program, argv, os.Environ()))
}

// restrict closes the file system but for what spec grants, and signals to processes
// outside. It leaves the network alone.
func restrict(version int, spec confineSpec) error {
	versions := [...]landlock.Config{3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V7}
	full := versions[version]
	config := landlock.Config{HandledAccessFS: full.HandledAccessFS, Scoped: full.Scoped}
	rules := []landlock.Rule{landlock.RWFiles(spec.Devices...)}
	const read = landlock.AccessFSSet(kernel.AccessFSExecute | kernel.AccessFSReadFile | kernel.AccessFSReadDir)
	for _, path := range spec.Read {
		info, err := os.Stat(path)
		switch {
		case err != nil: // gone meanwhile, or not ours to read
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(read, path).IgnoreIfMissing())
		default:
			rules = append(rules, landlock.PathAccess(read&^kernel.AccessFSReadDir, path).IgnoreIfMissing())
		}
	}
	for _, path := range spec.Write {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			rules = append(rules, landlock.RWDirs(path).WithRefer())
		default:
			rules = append(rules, landlock.RWFiles(path))
		}
	}
	return config.Restrict(rules...)
}
