mod edit;
mod edit_properties;
mod layers;
mod table;
