package events

// Provider is what an effect's provider promises about the calls of one key.
// Deed cannot check it: whoever intends the effect states it.
type Provider string

// The promises of a provider. One that promises nothing has none.
const (
	// ProviderDedupes takes the first call with an idempotency key and answers
	// every later one with what the first has made.
	ProviderDedupes Provider = "dedupes"
	// ProviderFences keeps the highest fence that a call or a probe of the key
	// has shown it, and refuses calls with a lower one from then on.
	ProviderFences Provider = "fences"
)

// Providers returns the promises that an intent can state.
func Providers() []Provider { return []Provider{ProviderDedupes, ProviderFences} }
