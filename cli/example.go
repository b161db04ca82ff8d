package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// illustrate gives the commands their examples.
func illustrate(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		illustrate(sub)
	}
	cmd.Example = examples[strings.TrimPrefix(cmd.CommandPath(), "deed ")]
}

// examples are whole command lines, by the command that they show. They stand
// in one place, so that one cast and one task run through all. Read-only.
var examples = map[string]string{
	"ledger create": `deed ledger create acme --admin ann --roles owner
deed ledger create acme --admin ann --profile solo --policy policy.txt`,
	"policy publish": `deed policy test policy.cedar --automation production=draft
deed policy publish policy.cedar --automation production=draft --reason "as agreed"`,
	"policy explain": `deed policy explain implementer effect.dispatched
deed policy explain operator delivery.recorded --task T-1`,
	"actor invite": `deed actor invite impl-1 --kind agent --principal ann --roles implementer --token-out impl-1.token
deed actor invite ci-1 --kind ci --principal ann --roles verifier --expires 24h
deed actor invite bob --kind human --principal bob --roles reviewer,operator`,
	"actor join": `deed actor join --token-file impl-1.token
deed actor join --token-file - --url nats://127.0.0.1:4222 --encrypt`,
	"actor claim": `deed key new impl-1
deed actor claim impl-1 --token-file impl-1.token`,
	"contract propose": `deed contract template > contract.yaml
deed contract propose T-1 -f contract.yaml
deed contract accept T-1`,
	"contract accept": `deed contract show T-1
deed contract accept T-1 --version 2`,
	"attempt open": `deed attempt open T-1 --as impl-1
deed attempt open T-1 --as impl-1 --base main --capability DEPLOY_TOKEN`,
	"lease claim": `deed lease claim T-1 --purpose work --as impl-1
deed lease claim T-1 --purpose release --term 30m --as ops-1`,
	"lease release": `deed lease release T-1 --reason shift --to impl-2 --note "the parser is left" --as impl-1`,
	"effect run": `deed effect run T-1 --kind preview --target staging --as impl-1 -- ./deploy.sh staging
deed effect run --kind preview --target staging --probe "./probe.sh staging" -- ./deploy.sh staging`,
	"effect commit": `git add src/greet.go
deed effect commit T-1 -m "greet everybody" --as impl-1`,
	"effect merge": `deed lease claim T-1 --purpose release --as ops-1
deed effect merge T-1 --as ops-1
deed effect merge T-1 --remote origin --no-ff --as ops-1`,
	"effect compensate": `deed effect compensate T-1 3f9a1c2b4d5e --part eu --as ops-1 -- ./rollback.sh eu
deed effect compensate T-1 3f9a1c2b4d5e --probe "./probe.sh undone" --as ops-1 -- ./rollback.sh`,
	"effect probe": `deed effect probe T-1 3f9a1c2b4d5e --record --as con-1`,
	"effect settle": `deed effect settle T-1 3f9a1c2b4d5e --outcome confirmed --external-id p-7 --evidence "it is listed"
deed effect settle T-1 3f9a1c2b4d5e --outcome failed --evidence "their log has no such call"`,
	"result record": `deed result record T-1 --summary "greets everybody" --as impl-1
deed result record T-1 --map "src/**=A1" --map "docs/greet.md=A1,A2" --as impl-1`,
	"receipt run": `deed receipt run T-1 --as ci-1
deed receipt run T-1 --env GOFLAGS --env GOCACHE --writable ~/.cache/go-build --as ci-1`,
	"artifact put": `deed artifact put build.log T-1 --as ci-1
deed artifact put dump.pcap T-1 --class restricted --type application/vnd.tcpdump.pcap --as impl-1
deed artifact put - T-1 --name test.log --as impl-1`,
	"artifact get": `deed artifact get 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae -O build.log`,
	"approve": `deed packet review T-1
deed approve T-1 --note "read it all" --as rita`,
	"reject": `deed reject T-1 --defect "high:A1:src/greet.go:the empty name is not greeted" --as rita`,
	"deliver": `git merge --no-ff task/T-1
deed deliver T-1 --as ops-1`,
	"recover": `deed recover T-1 --as con-1
deed recover T-1 --no-probe --as con-1`,
	"escalation resolve": `deed escalation resolve T-1 --action resume --reason "the provider is back"
deed escalation resolve T-1 --action repair --allowance 2 --reason "nearly there"
deed escalation resolve T-1 --action reverify --repin --reason "read the new policy"`,
	"audit verify": `deed audit verify
deed audit verify --head head-of-yesterday.txt`,
	"handoff":       "deed handoff T-1 --to impl-2 --reason context --note \"the parser is left\" --as impl-1",
	"resume":        "deed resume T-1 --as impl-2\ndeed resume T-1 --as impl-2 --controller con-1",
	"wait":          "deed wait T-1 --for AwaitingReview,Escalated --timeout 2h",
	"task list":     "deed task list --waiting-on reviewer\ndeed task list --stuck=1h --risk production",
	"why":           "deed why T-1\ndeed why T-1 --all",
	"packet review": "deed packet review T-1\ndeed packet review T-1 --raw > packet.json",
	"log":           "deed log T-1\ndeed log --since 120 --limit 20 -o json",
}
