# init: -lockfile=readonly
# provider
terraform {
  required_providers {
    failing = {
      source  = "cairn.dev/test/failing"
      version = ">= 1"
    }
  }
}
data "failing_read" "x" {}
