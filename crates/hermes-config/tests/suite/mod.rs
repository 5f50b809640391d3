mod layers;
mod table;
