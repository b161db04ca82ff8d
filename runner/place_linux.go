package runner

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Here gives the Place of this process.
func Here() (Place, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Place{}, fmt.Errorf("read boot id: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Place{}, fmt.Errorf("read process namespace: %w", err)
	}
	return Place{Boot: strings.TrimSpace(string(boot)), Namespace: namespace}, nil
}

// groupAlive tells whether a process group has a member that is not a zombie. What cannot
// be read counts as alive.
func groupAlive(group int) bool {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, entry := range list {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		// "pid (name) state ppid pgrp …"; the name may hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 3 {
			return true
		}
		if fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}
