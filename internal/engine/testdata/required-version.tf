terraform {
  required_version = ">= 99"
}
