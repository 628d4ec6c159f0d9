"""Downloads: results trees from directories, web servers, S3 and archives into a results directory."""
