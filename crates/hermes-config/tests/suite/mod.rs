mod child;
mod dotenv;
mod edit;
mod edit_properties;
mod layers;
mod python;
mod table;
