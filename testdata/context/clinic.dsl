workspace "Clinic" {
  !identifiers hierarchical
  model {
    patient = person "Patient"
    clinic = softwareSystem "Clinic" "Runs the surgeries of a group of vets" {
      desk = container "Front Desk" "Web pages on which owners book visits and see bills" "TypeScript" {
        calendar = component "Calendar" "Shows free hours of each vet"
        signup = component "Sign-up" "Registers owners and their animals"
      }
      core = container "Core" "Holds the rules of the practice" "Go" {
        booking = component "BookingService" "Reserves and cancels appointments, without two at the same hour"
        chart = component "ChartKeeper" "Keeps the medical history of each animal"
        dosage = component "DosageCalculator" "Computes how much of a drug an animal gets, by weight and species"
        billing = component "Ledger" "Writes invoices and records payments"
      }
      courier = container "Courier" "Sends reminders by mail and text message" "Go"
      lab = container "LabBridge" "Receives results of blood and tissue tests" "Python"
      store = container "Archive" "Relational store of everything" "PostgreSQL"
      images = container "PictureVault" "Stores X-rays and photographs" "S3"
    }
    patient -> clinic.desk "books visits with"
    clinic.desk.calendar -> clinic.core.booking "asks for free hours"
    clinic.desk.signup -> clinic.core.chart "opens a record in"
    clinic.core.booking -> clinic.courier "announces appointments to"
    clinic.core.billing -> clinic.courier "sends bills through"
    clinic.core.chart -> clinic.images "attaches pictures from"
    clinic.lab -> clinic.core.chart "adds findings to"
    clinic.core -> clinic.store "reads and writes" "SQL"
  }
}
