terraform {
  required_providers {
    aws = { source = "registry.invalid/hashicorp/aws" }
  }
}
