package heal

// A need is what an operator has to ask for before a code is mended.
type need string

const (
	asked   need = ""
	deletes need = "--delete"
	forces  need = "--force"
)

// A way is how findings are mended.
type way int

const (
	never      way = iota // by no request
	release               // the consumer's allocation is deleted
	server                // with all others of its server
	aggregates            // the provider's aggregates are replaced
	place                 // the provider gets another name or parent
	traits                // the provider's traits are replaced
	inventory             // an inventory is left out
	removal               // the provider and those below it are deleted
	port                  // the port is changed
)

// A rule says how findings of a code are mended.
type rule struct {
	part Part
	way  way
	need need
	// nova is the code of heal_allocations for a finding that is left.
	nova NovaCode
}

// rules has all codes of audit.
var rules = map[string]rule{
	"orphaned-allocation":          {Allocations, release, deletes, 0},
	"migration-left-over":          {Allocations, release, deletes, 0},
	"migration-of-gone-server":     {Allocations, release, deletes, 0},
	"offloaded-server-holds":       {Allocations, release, deletes, 0},
	"unplaced-server-holds":        {Allocations, release, deletes, 0},
	"consumer-without-type":        {Allocations, server, asked, 0},
	"consumer-type-wrong":          {Allocations, server, asked, 0},
	"consumer-project-wrong":       {Allocations, server, asked, 0},
	"consumer-user-wrong":          {Allocations, server, asked, 0},
	"server-without-allocation":    {Allocations, server, asked, NotAllocated},
	"allocation-on-wrong-host":     {Allocations, server, forces, 0},
	"held-on-several-hosts":        {Allocations, server, deletes, 0},
	"evacuation-source-held":       {Allocations, server, deletes, 0},
	"flavor-amount-missing":        {Allocations, server, forces, 0},
	"flavor-amount-superfluous":    {Allocations, server, forces, 0},
	"class-not-asked":              {Allocations, server, forces, 0},
	"bound-without-key":            {Allocations, server, asked, NotAllocated},
	"key-group-unknown":            {Allocations, server, asked, 0},
	"key-group-missing":            {Allocations, server, asked, NotAllocated},
	"key-provider-gone":            {Allocations, server, asked, 0},
	"key-provider-of-other-host":   {Allocations, server, asked, 0},
	"key-provider-lacks-class":     {Allocations, server, asked, 0},
	"key-provider-lacks-trait":     {Allocations, server, asked, 0},
	"key-not-allocated":            {Allocations, server, asked, NotAllocated},
	"port-amount-missing":          {Allocations, server, asked, NotAllocated},
	"port-amount-superfluous":      {Allocations, server, deletes, 0},
	"consumer-empty":               {part: Allocations},
	"allocation-on-gone-provider":  {part: Allocations},
	"allocation-without-inventory": {part: Allocations},
	"amount-breaks-units":          {part: Allocations},
	"usage-differs":                {part: Allocations},
	"server-host-unknown":          {part: Allocations, nova: NoNode},
	"migration-without-allocation": {part: Allocations},
	"migration-on-wrong-host":      {part: Allocations},
	"migration-record-stale":       {part: Allocations},
	"capacity-exceeded":            {part: Allocations},
	"reserved-in-use":              {part: Allocations},
	"guarantee-overcommitted":      {part: Allocations},

	"aggregate-mirror-missing":     {Aggregates, aggregates, asked, 0},
	"aggregate-mirror-superfluous": {Aggregates, aggregates, asked, 0},
	"aggregate-host-unknown":       {part: Aggregates},
	"aggregate-ratio-differs":      {part: Aggregates},
	"ratios-differ-in-aggregate":   {part: Aggregates},
	"sharing-without-aggregate":    {part: Aggregates},
	"sharing-aggregate-empty":      {part: Aggregates},

	"agent-provider-misplaced":    {Providers, place, asked, 0},
	"device-provider-misplaced":   {Providers, place, asked, 0},
	"provider-name-differs":       {Providers, place, asked, 0},
	"disabled-trait-missing":      {Providers, traits, asked, 0},
	"disabled-trait-superfluous":  {Providers, traits, asked, 0},
	"inventory-class-superfluous": {Providers, inventory, deletes, 0},
	"agent-provider-stale":        {Providers, removal, deletes, 0},
	"device-provider-stale":       {Providers, removal, deletes, 0},
	"provider-of-gone-host":       {Providers, removal, deletes, 0},
	"agent-dead-with-ports":       {part: Providers},
	"agent-not-synced":            {part: Providers},
	"agent-report-invalid":        {part: Providers},
	"agent-device-left-out":       {part: Providers},
	"agent-host-unknown":          {part: Providers},
	"agent-host-differs":          {part: Providers},
	"agent-provider-missing":      {part: Providers},
	"inventory-class-missing":     {part: Providers},
	"inventory-total-differs":     {part: Providers},
	"inventory-settings-differ":   {part: Providers},
	"max-unit-below-total":        {part: Providers},
	"physnet-trait-missing":       {part: Providers},
	"physnet-trait-superfluous":   {part: Providers},
	"vnic-trait-missing":          {part: Providers},
	"hypervisor-without-provider": {part: Providers},
	"hypervisor-uuid-differs":     {part: Providers},
	"hypervisor-name-differs":     {part: Providers},
	"host-without-service":        {part: Providers},
	"names-alike":                 {part: Providers},
	"reserved-above-total":        {part: Providers},
	"unknown-class":               {part: Providers},
	"unknown-trait":               {part: Providers},
	"provider-parent-gone":        {part: Providers},
	"provider-root-differs":       {part: Providers},

	"port-of-gone-server":            {Ports, port, deletes, 0},
	"key-of-unbound-port":            {Ports, port, asked, 0},
	"key-without-request":            {Ports, port, asked, 0},
	"key-format-old":                 {Ports, port, asked, 0},
	"port-host-differs":              {part: Ports},
	"port-binding-failed":            {part: Ports},
	"port-not-bound":                 {part: Ports},
	"request-trait-without-provider": {part: Ports},
}

// Mends returns the part that mends findings of a code, and the flag that it takes, "" for none. It reports false for a code that no request mends.
func Mends(code string) (part Part, flag string, ok bool) {
	r := rules[code]
	return r.part, string(r.need), r.way != never
}
