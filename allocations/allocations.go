// Package allocations has what the network and the compute service share about placement: amounts
// of resources and their arithmetic, the allocations of a consumer, the change of them by an
// attempt whose outcome can be determined, their exchange between two consumers, and the errors of
// a placement service.
//
// Each service stores its attempts in its own database, by a Record. A Change goes through these
// states:
//
//	          Note                  the write is answered: done
//	planned ─────────► attempted ──────────────────────────────────────────────► done
//	   ▲                │  │
//	   │  refused (409) │  │ no answer: the consumer is read
//	   └────────────────┘  │   its generation is the attempt's ─► it is written once more as it is,
//	   ▲                   │   which raises the generation ────────────────────► not done
//	   │                   │   the amounts are those that the attempt writes ──► done
//	   │                   │   the amounts are those before it ────────────────► not done
//	   │                   │   one write has taken place since, another ───────► not done
//	   │                   │   otherwise ──────────────────────────────────────► unknown
//	   └───────────────────┘
//	        not done
//
// An attempt names the generation of the consumer. It can succeed only while the consumer has that
// generation, and raises it by one. So one that was found not done does not take place later,
// however late its request arrives.
//
// An Exchange has no outcome that is unknown: the consumer of a migration has allocations only if
// it took place.
//
// The amounts are in amounts.go, attempts in attempt.go, exchanges in exchange.go. Why: decisions
// 24 and 30.
package allocations

import (
	"context"
	"errors"
)

// A Consumer is the allocations of a consumer in placement, and whom they belong to.
type Consumer struct {
	Amounts Amounts // nil without allocations
	Project string
	User    string
	Type    string // "INSTANCE", "MIGRATION"; "" when placement does not say
	// Generation is nil when the consumer has no allocations.
	Generation *int64
}

// A Placement is the part of a placement service that stores allocations: Berth's in the same
// process, or any over REST. A failed call returns a fault: Unavailable when the service cannot be
// reached or is too busy, one of the errors below, or the fault that it answered. After Unavailable
// a write may have taken place, and may still. Methods may be called concurrently.
type Placement interface {
	// Allocations returns the allocations of a consumer, the zero value for none.
	Allocations(ctx context.Context, consumer string) (Consumer, error)
	// SetAllocations replaces the allocations of a consumer; without amounts they are deleted. A
	// consumer for which no type is given keeps its type. It returns ErrGeneration when the
	// consumer or one of the providers was changed concurrently, ErrCapacity when there is not
	// enough capacity.
	SetAllocations(ctx context.Context, consumer string, c Consumer) error
	// SetManyAllocations is SetAllocations for several consumers, for all of them or for none.
	SetManyAllocations(ctx context.Context, consumers map[string]Consumer) error
}

// The errors of a placement service that are not faults. Placement returns the last two only, the
// interfaces that extend it return all of them.
var (
	ErrNoProvider = errors.New("allocations: placement has no such provider")
	ErrInUse      = errors.New("allocations: the provider is in use in placement")
	ErrGeneration = errors.New("allocations: it was changed in placement concurrently")
	ErrCapacity   = errors.New("allocations: placement has not enough of it")
)

// ErrUnsettled says that it is unknown whether a change took place.
var ErrUnsettled = errors.New("allocations: it is not known whether placement made the change")
