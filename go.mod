module polygrad

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/tetratelabs/wazero v1.12.0
	golang.org/x/sys v0.49.0
)

ignore ./bindings/js/node_modules
