package wire

const (
	managerOrAdmin = "rule:project_manager_or_admin"
	onlyAdmin      = "rule:context_is_admin"
)

// newestChecks are the checks that Nova 32 (2025.2) has with new defaults enforced and Zed has not:
// managers move the servers of their project to hosts that the scheduler chooses, and services
// report events. Who may name a host, or see hosts and other projects, was part of the rule before
// it was one of its own, and is until then.
var newestChecks = map[string]string{
	"os_compute_api:os-migrate-server:migrate":           managerOrAdmin,
	"os_compute_api:os-migrate-server:migrate:host":      onlyAdmin,
	"os_compute_api:os-migrate-server:migrate_live":      managerOrAdmin,
	"os_compute_api:os-migrate-server:migrate_live:host": onlyAdmin,
	"os_compute_api:os-migrations:index":                 managerOrAdmin,
	"os_compute_api:os-migrations:index:all_projects":    onlyAdmin,
	"os_compute_api:os-migrations:index:host":            onlyAdmin,
	"os_compute_api:os-server-external-events:create":    "rule:service_or_admin",
	"os_compute_api:servers:migrations:delete":           managerOrAdmin,
	"os_compute_api:servers:migrations:force_complete":   managerOrAdmin,
	"os_compute_api:servers:migrations:index":            managerOrAdmin,
	"os_compute_api:servers:migrations:index:host":       onlyAdmin,
}
