# provider
terraform {
  required_providers {
    failing = {
      source  = "cairn.dev/test/nobody"
      version = ">= 1"
    }
  }
}
data "failing_read" "x" {}
