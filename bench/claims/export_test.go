package claims

// Requests and Body are what a client makes of an answer.
var (
	Requests = requests
	Body     = claim
)
