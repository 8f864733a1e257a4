package claims

// Requests and Body are a client's conversions of an answer.
var (
	Requests = requests
	Body     = claim
)

// Owner is the rest of a claim of the newest microversion.
const Owner = newestOwner
