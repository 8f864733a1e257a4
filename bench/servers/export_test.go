package servers

// Write writes settings into a directory.
func Write(s Settings, dir string) (path string, err error) { return s.write(dir) }
