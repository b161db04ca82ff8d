package boundary

import (
	"slices"
	"strings"
	"sync"
)

// ProtectedPatterns are the paths that no boundary ever allows: what steers git, CI,
// reviews, releases, agents and Deed itself, and files that hold secrets. They match loosely, as
// excludes do, but for OWNERS and OWNERS_ALIASES: see protectedExact.
func ProtectedPatterns() []string {
	return slices.Concat(protectedLoose(), protectedExact())
}

func protectedLoose() []string {
	return slices.Concat(protectedGit(), protectedCI(), protectedPermissions(), protectedAgents(), protectedSecrets(), protectedDeed())
}

// protected are the ProtectedPatterns, prepared once. Read-only.
var protected = sync.OnceValue(func() []denial {
	list := denials(protectedLoose())
	for _, pattern := range protectedExact() {
		list = append(list, denial{pattern: pattern, exact: strings.Split(pattern, "/")})
	}
	return list
})

func denials(patterns []string) []denial {
	list := make([]denial, len(patterns))
	for i, pattern := range patterns {
		list[i] = newDenial(pattern)
	}
	return list
}

// protectedGit are what git and its hooks read, and the short names that Windows gives
// to git's folder.
func protectedGit() []string {
	return []string{
		".git/**", "**/.git/**", "**/git~*/**", "**/.gitmodules", "**/.gitattributes", "**/.gitconfig", "**/.lfsconfig", "**/.mailmap",
		".gitreview", ".githooks/**", ".husky/**", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", ".overcommit.yml", "lefthook*", ".lefthook*",
	}
}

func protectedCI() []string {
	return []string{
		".github/**", ".gitea/**", ".forgejo/**", ".gitlab/**", "**/.gitlab-ci*", ".circleci/**",
		"**/azure-pipelines*", ".azure-pipelines/**", ".azuredevops/**", "**/Jenkinsfile*", ".jenkins/**", ".buildkite/**", ".travis.yml", ".travis/**",
		".drone*", ".woodpecker*", ".woodpecker/**", "bitbucket-pipelines*", ".teamcity/**", ".cirrus*", "appveyor*", ".appveyor*",
		".semaphore/**", ".build.yml", ".builds/**", ".tekton/**", "**/cloudbuild*.yaml", "**/cloudbuild*.yml", "**/cloudbuild*.json",
		"**/buildspec*.yml", "**/buildspec*.yaml", "codemagic.yaml", ".harness/**", ".codebuild/**", "wercker.yml", "bitrise.yml", "concourse/**", "renovate.json*", ".renovaterc*",
		".mergify*", "mergify.yml", "bors.toml", ".kodiak.toml", ".zuul*", "zuul.d/**", ".zuul.d/**", ".packit*", ".prow*",
	}
}

func protectedPermissions() []string {
	return []string{
		"**/CODEOWNERS", ".bitbucket/**",
		"**/.goreleaser*", "**/.releaserc*", "**/release.config.*", "**/release-please-config.json", "**/.release-please-manifest.json", ".changeset/config.json", ".github_changelog_generator",
		"**/.release-it*", "**/.versionrc*", "**/release-plz.toml", "**/dist-workspace.toml", "jreleaser*",
	}
}

// protectedAgents say what agents and editors may do, or run by themselves.
func protectedAgents() []string {
	return []string{
		"**/.claude/settings*.json", "**/.claude/hooks/**", "**/.mcp.json", "**/.cursor/mcp.json", "**/.cursor/hooks.json", "**/.codex/config.toml",
		"**/.gemini/settings.json", "**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/mcp.json", "**/.devcontainer/**", "**/.devcontainer.json",
	}
}

// protectedExact are names that in another case are ordinary words of a program, such as
// src/owners. The robots that read them do so from the tree, by their exact bytes, so
// that no other spelling is one of them.
func protectedExact() []string { return []string{"**/OWNERS", "**/OWNERS_ALIASES"} }

func protectedSecrets() []string {
	return []string{
		"**/.env*", "**/.envrc", "**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx", "**/*.jks", "**/*.keystore", "**/*.kdbx", "**/*.ppk",
		"**/id_rsa*", "**/id_dsa*", "**/id_ecdsa*", "**/id_ed25519*", "**/.netrc", "**/_netrc", "**/.pgpass", "**/.npmrc", "**/.pypirc", "**/.htpasswd",
		"**/.git-credentials", "**/.vault-token", "**/.dockercfg", "**/.s3cfg", "**/.boto", "**/.terraformrc", "**/.aws/**", "**/.ssh/**", "**/.gnupg/**", "**/.kube/**", "**/.docker/**", "**/.secrets/**", ".secrets*",
		"**/secrets.yml", "**/secrets.yaml", "**/secrets.json", "**/secrets.toml", "**/*.tfstate", "**/*.tfstate.*",
	}
}

func protectedDeed() []string {
	return []string{
		".agent-delivery", ".agent-delivery/policy/**", ".agent-delivery/contracts/**", ".agent-delivery/approvals/**", ".agent-delivery/receipts/**",
		".agent-delivery/snapshots/**", ".agent-delivery/recovery/**",
	}
}

// protectedV1 are the protected patterns of the first dialect.
func protectedV1() []string {
	return []string{
		".git/**", ".gitmodules", "**/.gitattributes", ".github/**", ".gitlab-ci.yml", "**/.env*",
		"CODEOWNERS", "**/CODEOWNERS",
		".agent-delivery/policy/**", ".agent-delivery/contracts/**",
		".agent-delivery/approvals/**", ".agent-delivery/receipts/**",
	}
}

// protectedByV1 gives the pattern of the first dialect that protects a path, or "".
// That one knew the case of ASCII letters alone.
func protectedByV1(path string) string {
	folded := foldASCII(path)
	for _, pattern := range protectedV1() {
		if MatchPattern(foldASCII(pattern), folded) {
			return pattern
		}
	}
	return ""
}

func foldASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
