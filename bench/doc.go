// Package bench measures the ledger as its users meet it, beside what the
// machine can do at all in the same run. There is nothing in it to import:
//
//	go test -run '^$' -bench . ./bench
//	go run ./bench/report
//
// The second writes the table of docs/performance.md.
package bench
