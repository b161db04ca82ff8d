package cli

// contractTemplate is what deed contract template prints: a draft that says
// what belongs where. It parses as it is; propose refuses it until goal, text
// and command are filled in.
const contractTemplate = `# A contract: what is to be delivered, and how anybody can check it.
# Fill it in, then: deed contract propose TASK -f contract.yaml
# What is shown after "default" may be left out. JSON works too.

goal: ""                   # one or two sentences: what is true when this is done
nonGoals: []               # what a reader might expect and must not

acceptance:                # at least one item that is required
  - id: A1
    text: ""               # what must hold, in words
    required: true         # default true
    evidence: test         # default test; or screenshot, api-response or human-review
    checks:
      - id: A1-1           # default: the item's id and a number
        command: []        # an argument list, such as [go, test, ./...]; no shell reads it
        dir: ""            # where it runs, below the repository; default its root
        files: []          # files of the check itself; their committed bytes are pinned
        timeoutSeconds: 600 # default 600
        # report: {format: junit, path: out/report.xml} # default none: the exit status alone speaks. The command
        #                  # writes this file below the repository; formats: go-test-json, junit, tap, ctrf, sarif;
        #                  # path "-" is its output, for go-test-json and tap
        skips: []          # tests of the report that may be skipped, by name; any other skip proves nothing

services: []               # what checks need outside the repository, such as
                           # [{name: db, command: [pg_isready], timeoutSeconds: 10}]: the command exits with 0 while it
                           # is healthy. A check that fails while one is not is the environment's failure

riskTier: code             # default code; or read-only, preview or production
owners:
  product: ""              # default: whoever proposes
scope:
  include: ["src/**"]      # paths that may change; ** is any number of folders
  exclude: []              # paths that may not, although included
  commands: []             # programs or whole lines that runs are expected to call. This also decides which probes
                           # deed recover and deed effect probe may run here: a probe of an effect is another
                           # actor's command, and one whose program or line is not listed is not run, so that a
                           # person has to settle its effect. Such as: [./deploy.sh, "./probe.sh staging"]
  effects: []              # kinds of effect that need no approval of their own: preview, draft-pr, commit,
                           # migrate, publish or notify; merge and production-deploy always need one

target: main               # default main: the branch that the delivery goes to
reviewers: []              # who may approve; default any reviewer
quorum: 1                  # default 1
maxRepairs: 5              # default 5
maxStalls: 3               # default 3: repairs in a row that change no failing check
expires: ""                # such as 2030-01-31T00:00:00Z; default never
parent: ""                 # the task that this one is a part of
`
