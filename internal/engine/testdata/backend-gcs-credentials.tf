terraform {
  backend "gcs" {
    bucket      = "states"
    credentials = "/nowhere.json"
  }
}
resource "terraform_data" "x" {}
