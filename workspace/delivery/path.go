package delivery

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
)

// Dir is the folder of the protocol in a repository.
const Dir = ".agent-delivery"

// The folders below [Dir].
const (
	contractsDir = "contracts"
	attemptsDir  = "attempts"
	snapshotsDir = "snapshots"
	plansDir     = "plans"
	resultsDir   = "results"
	receiptsDir  = "receipts"
	recoveryDir  = "recovery"
	approvalsDir = "approvals"
	policyDir    = "policy"
)

// Folders are the folders below [Dir], as paths in a repository, sorted.
func Folders() []string {
	names := []string{approvalsDir, attemptsDir, contractsDir, plansDir, policyDir, receiptsDir, recoveryDir, resultsDir, snapshotsDir}
	for i, name := range names {
		names[i] = Dir + "/" + name
	}
	return names
}

func contractPath(task string, version int64) string {
	return fmt.Sprintf("%s/%s/%s.v%d.json", Dir, contractsDir, task, version)
}

// attemptPath is the file of an attempt in a folder that has one for each.
func attemptPath(folder, task, attempt string) string {
	end := ".json"
	if folder == plansDir {
		end = ".yaml"
	}
	return path.Join(Dir, folder, task, attempt+end)
}

func resultPath(task, attempt string, n int) string {
	return path.Join(Dir, resultsDir, task, attempt, fmt.Sprintf("impl-%02d.json", n))
}

func receiptPath(task, attempt string, n int) string {
	return path.Join(Dir, receiptsDir, task, attempt, fmt.Sprintf("test-%02d.json", n))
}

// Owned tells whether a path is of a kind that holds what the ledger says of a task.
func Owned(task, name string) bool {
	rest, ok := strings.CutPrefix(name, Dir+"/")
	if !ok {
		return false
	}
	folder, rest, _ := strings.Cut(rest, "/")
	switch folder {
	case contractsDir:
		_, ok := contractVersion(task, rest)
		return ok
	case attemptsDir, snapshotsDir, plansDir, resultsDir, receiptsDir, recoveryDir, approvalsDir:
		return strings.HasPrefix(rest, task+"/")
	}
	return false
}

// Printed tells whether a path of a repository is in a folder that holds what ledgers say, of any task.
func Printed(name string) bool {
	folder := strings.Join(strings.SplitN(name, "/", 3)[:min(2, strings.Count(name, "/"))], "/")
	return folder != Dir+"/"+policyDir && slices.Contains(Folders(), folder)
}

// contractVersion reads TASK.vN.json.
func contractVersion(task, name string) (int64, bool) {
	rest, ok := strings.CutPrefix(name, task+".v")
	digits, end := strings.CutSuffix(rest, ".json")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && end && err == nil && n > 0 && strconv.FormatInt(n, 10) == digits
}

// resultNumber reads .agent-delivery/results/TASK/ATTEMPT/impl-NN.json.
func resultNumber(task, name string) (attempt string, n int, ok bool) {
	rest, ok := strings.CutPrefix(name, path.Join(Dir, resultsDir, task)+"/")
	attempt, file, slash := strings.Cut(rest, "/")
	digits, begin := strings.CutPrefix(file, "impl-")
	digits, end := strings.CutSuffix(digits, ".json")
	n, err := strconv.Atoi(digits)
	ok = ok && slash && begin && end && err == nil && n > 0 && fmt.Sprintf("%02d", n) == digits && events.ValidAttempt(attempt)
	return attempt, n, ok
}
