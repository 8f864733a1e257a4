package differential

import "net/http"

// Faults lists requests at which upstream breaks, in all its releases, and that
// Berth is not asked to break at.
func Faults() []Excuse {
	return []Excuse{
		{
			Name: "500",
			Match: func(x *Exchange) bool {
				if x.A.Status == http.StatusInternalServerError { println("FAULT", x.Request.Method, x.Request.Target, x.Request.value("OpenStack-API-Version"), x.A.detail(), x.B.detail()); println("FAULTBODY", x.Request.Body) }
				return x.A.Status == http.StatusInternalServerError
			},
		},
	}
}
