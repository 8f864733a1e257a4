package proc

// Clock and Status are what CPU and Memory read.
var (
	Clock  = clock
	Status = status
)
