package proc

// Clock and Status are the sources of CPU and Memory.
var (
	Clock  = clock
	Status = status
)
